import { expect, it } from "vitest";
import { person, privateChat } from "../../../../test/telegram/fake-telegram.ts";
import { readUpdate } from "./read-update.ts";

it("two edits of a message in one second are two revisions, and the same update is the same one", () => {
  const edit = (update_id: number, text: string) => ({
    update_id,
    edited_message: { message_id: 3, date: 10, edit_date: 20, from: person(5), chat: privateChat(5), text },
  });
  const read = (update: object) => readUpdate(update, { id: 1, username: "rook_bot" }) as { revision: number };
  expect(read(edit(1, "one")).revision).not.toBe(read(edit(2, "two")).revision);
  expect(read(edit(1, "one"))).toEqual(read(edit(1, "one")));
  expect(read(edit(1, "one"))).toMatchObject({ messageId: "3", sentAt: 20_000 });
});
