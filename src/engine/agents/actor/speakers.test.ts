import { expect, test } from "vitest";
import type { Message } from "../../../core/message/message.ts";
import type { PersonId } from "../../../core/people/person.ts";
import { speakersOf } from "./speakers.ts";

const [ANN, BOB] = ["ann", "bob"] as unknown as [PersonId, PersonId];
let reads = 0;
const directory = {
  recent: async () => {
    reads++;
    return {
      personOf: (id: string) => (id === "test:ann" ? ANN : id),
      record: (id: string) => (id === "bob" ? { name: "Bob of the record" } : undefined),
      standing: (id: string) => ({ person: id === "test:ann" ? ANN : id, role: "guest", grants: [] }),
    };
  },
} as never;
const message = (more: object = {}): Message =>
  ({
    body: { kind: "user", text: "hi", sender: { id: "7", name: "Chosen" } },
    behalf: { person: BOB },
    ...more,
  }) as unknown as Message;
const line = async (one: Message, own: PersonId = ANN) => (await speakersOf({ directory }, own, [one]))?.(one);

test("a message of another is said to be theirs, by the name of the record or the one that they chose", async () => {
  expect(await line(message())).toBe('<speaker id="bob" role="guest" name="Bob of the record"/>');
  expect(await line(message({ behalf: { person: "eve" } }))).toBe('<speaker id="eve" role="guest" name="Chosen"/>');
});

test.each<[string, object, PersonId]>([
  ["of the agent's own person", { behalf: { person: ANN } }, ANN],
  ["of an account of that person", { behalf: { person: "test:ann" } }, ANN],
  ["for a run that was promised", { asRun: "r" }, ANN],
  ["that names no one", { behalf: undefined }, ANN],
  ["of an agent", { body: { kind: "system", text: "x" } }, ANN],
])("a message %s needs no line, alone or beside one that does", async (_title, more, own) => {
  expect(await line(message(more), own)).toBeUndefined();
  const one = message(more);
  const both = await speakersOf({ directory }, own, [message(), one]);
  expect([both?.(one), both?.(message())]).toEqual([undefined, expect.stringContaining('id="bob"')]);
});

test("no one is looked up if all messages are of the agent's own person", async () => {
  reads = 0;
  expect(await speakersOf({ directory }, ANN, [message({ behalf: { person: ANN } })])).toBeUndefined();
  expect(await speakersOf({ directory: undefined } as never, ANN, [message()])).toBeUndefined();
  expect(reads).toBe(0);
});
