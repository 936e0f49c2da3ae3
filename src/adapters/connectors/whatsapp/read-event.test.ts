import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readBody } from "./read-event.ts";

const bodyOf = (value: object) => ({
  object: "whatsapp_business_account",
  entry: [
    {
      changes: [
        { field: "messages", value: { metadata: { phone_number_id: "1", display_phone_number: "1 555" }, ...value } },
      ],
    },
  ],
});
const text = (id: string, more: object = {}) => ({
  from: "49",
  id,
  timestamp: "10",
  type: "text",
  text: { body: "hi" },
  ...more,
});
const eventsOf = (value: object) => readBody(bodyOf(value)).flatMap(({ events }) => events);
const readOne = (message: object) => eventsOf({ messages: [message] })[0]?.read;

describe("a webhook", () => {
  it("has its messages and statuses in order", () => {
    const statuses = [{ id: "w", status: "read", biz_opaque_callback_data: "d.0", recipient_id: "49" }];
    const read = eventsOf({ messages: [text("a"), text("b")], statuses });
    expect(read.map(({ id, chat }) => [id, chat])).toEqual([
      ["a", "49"],
      ["b", "49"],
      ["w/read", "49"],
    ]);
    expect(read[2]?.read).toMatchObject({ kind: "status", deliveryId: "d.0", status: "arrived" });
  });

  it("gives two edits in one second two revisions, and the same edit the same one", () => {
    const edit = (id: string) =>
      readOne(
        text(id, { type: "edit", edit: { original_message_id: "o", message: { type: "text", text: { body: id } } } }),
      ) as {
        revision: number;
        messageId: string;
      };
    expect(edit("e1")).toEqual(edit("e1"));
    expect(edit("e1").messageId).toBe("o");
    expect(edit("e1").revision).not.toBe(edit("e2").revision);
    expect(Number.isSafeInteger(edit("e1").revision)).toBe(true);
  });

  it.each([
    ["no sender", { from: undefined }],
    ["a time that is none", { timestamp: "soon" }],
    ["a text that is none", { text: { body: 7 } }],
    ["an id with spaces", { id: "a b" }],
  ])("skips a message with %s and keeps the others", (_, more) => {
    const read = eventsOf({ messages: [text("a", more), text("b")] }).map((one) => one.read);
    expect(read).toMatchObject([
      { kind: "ignored", reason: expect.stringContaining("malformed") },
      { kind: "message" },
    ]);
  });

  it("knows a person who hides the number by the id of the business, and a group by its own", () => {
    expect(readOne(text("a", { from: undefined, from_user_id: "US.1" }))).toMatchObject({
      userId: "US.1",
      chatId: "US.1",
    });
    expect(readOne(text("a", { group_id: "g1" }))).toMatchObject({
      userId: "49",
      chatId: "g1",
      isGroup: true,
      addressed: false,
    });
    const named = readOne(text("a", { group_id: "g1", text: { body: "@1555 look" } }));
    expect(named).toMatchObject({ addressed: true });
  });

  it("is read whatever it is", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), fc.jsonValue(), (body, value, message) => {
        readBody(body);
        readBody(bodyOf(Object(value) as object));
        eventsOf({ messages: [message, text("a", Object(message) as object)], contacts: value, statuses: [message] });
      }),
    );
  });
});
