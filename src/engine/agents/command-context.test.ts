/** The surroundings of a command that a person types: who they are now, whose conversation it is, and under which rights. */
import { describe, expect, test } from "vitest";
import type { AgentRecord } from "../../core/agent/agent.ts";
import type { Message } from "../../core/message/message.ts";
import type { PersonId } from "../../core/people/person.ts";
import { answerCommand, type CommandHost } from "./command-context.ts";

/** `test:7` is an account of Ann, who has a record. */
const now = {
  revision: 4,
  personOf: (id: PersonId) => (id === "test:7" ? "ann" : id),
  standing: (id: PersonId) => ({ person: now.personOf(id), role: id === "owner" ? "owner" : "guest", grants: [] }),
};
const memory = async () => ({ name: "MEMORY.md", text: "secret notes", names: ["MEMORY.md"] });

async function say(
  name: string,
  { own, behalf, found, text = "" }: { own?: string; behalf?: string; found?: string; text?: string },
  options: object = {},
) {
  const host = {
    directory: { now: async () => now },
    people: { personOf: async () => found },
    ...{ approvals: {}, queue: {}, whatWaits: async () => ({ waiting: [] }) },
  } as unknown as CommandHost;
  const agent = { id: "a1", profile: "main", person: own, state: {}, descriptor: { type: "user" } };
  const message = {
    ...{ seq: 1, body: { kind: "command", name, text }, behalf: behalf && { person: behalf } },
  } as unknown as Message;
  const ports = { clock: { now: () => 5 }, store: { runs: async () => [] } } as never;
  return answerCommand(
    ports,
    { commands: { memory }, ...options } as never,
    host,
    agent as unknown as AgentRecord,
    message,
  );
}

describe("the notes of a conversation", () => {
  test.each<[string, Parameters<typeof say>[1], boolean]>([
    ["its own person", { own: "ann", behalf: "ann" }, true],
    ["its own person, by an account that the agent was made for", { own: "test:7", behalf: "ann" }, true],
    ["its own person, by an account that the message names", { own: "ann", behalf: "test:7" }, true],
    ["another person", { own: "ann", behalf: "bob" }, false],
    ["another person, if the agent was made for an account", { own: "test:7", behalf: "bob" }, false],
    ["its person, whom only the conversation names", { found: "test:7", behalf: "ann" }, true],
    ["another, if only the conversation names its person", { found: "test:7", behalf: "bob" }, false],
    ["its person, if the message names no one", { own: "ann" }, true],
    ["the owner, if no one is named at all", {}, true],
  ])("are shown to %s: %#", async (_title, people, shown) => {
    const { text } = await say("memory", people);
    expect(text.includes("secret notes")).toBe(shown);
  });
});

describe("a command that changes something", () => {
  test.each<[string, object, number | undefined]>([
    ["is bound to the rights it was decided by", { rights: {} }, 4],
    ["is bound to none where there are none", {}, undefined],
  ])("%s", async (_title, options, rights) => {
    const answered = await say("think", { own: "owner", behalf: "owner", text: "high" }, options);
    expect(answered.patch).toBeDefined();
    expect(answered.rights).toBe(rights);
  });

  test("and one that only shows something is bound to no rights", async () => {
    expect((await say("memory", { own: "owner", behalf: "owner" }, { rights: {} })).rights).toBeUndefined();
  });
});

test("a message that is no command is answered with nothing", async () => {
  const message = { body: { kind: "user", text: "hi" } } as unknown as Message;
  expect(await answerCommand({} as never, {} as never, {} as never, {} as never, message)).toEqual({ text: "" });
});
