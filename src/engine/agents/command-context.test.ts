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
/** Two agents have spent something today. */
const STORE = {
  runs: async () => [],
  usageSince: async () => [
    { agentId: "a1", tokens: 30, cost: 0 },
    { agentId: "a2", tokens: 500, cost: 0 },
  ],
  agent: async (id: string) => ({ id, descriptor: { type: "user" } }),
};
const memory = async () => ({ name: "MEMORY.md", text: "secret notes", names: ["MEMORY.md"] });

interface Said {
  readonly own?: string;
  readonly behalf?: string;
  readonly found?: string;
  readonly text?: string;
  readonly source?: object;
  /** What the host has. */
  readonly host?: object;
  readonly state?: object;
}

async function say(
  name: string,
  { own, behalf, found, text = "", source, host: more, state = {} }: Said,
  options: object = {},
) {
  const host = {
    directory: { now: async () => now },
    people: { personOf: async () => found },
    ...{ approvals: {}, queue: {}, whatWaits: async () => ({ waiting: [] }) },
    ...more,
  } as unknown as CommandHost;
  const agent = { id: "a1", profile: "main", person: own, state, descriptor: { type: "user" } };
  const message = {
    ...{ seq: 1, source, body: { kind: "command", name, text }, behalf: behalf && { person: behalf } },
  } as unknown as Message;
  const ports = { clock: { now: () => 5 }, store: STORE } as never;
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

describe("the status of a conversation", () => {
  /** Questions that were asked for, and answers that were given. */
  function approvals() {
    const asked: unknown[] = [];
    const list = async (...all: unknown[]) => {
      asked.push(all);
      return [];
    };
    const decide = async (...all: unknown[]) => {
      asked.push(all);
      return { id: "kfmz", tool: "exec", state: "approved" };
    };
    return { asked, host: { approvals: { list, decide, get: async () => ({}), widths: async () => [] } } };
  }
  const waiting = [
    { seq: 1, kind: "command", text: "", will: "itself" },
    { seq: 2, kind: "compact", text: "", will: "waits its turn" },
    { seq: 3, kind: "user", text: "hello", will: "runs next" },
  ];

  test("says what runs and waits besides the command, and what this conversation has cost", async () => {
    const { host } = approvals();
    const whatWaits = async () => ({ run: { id: "r1", state: "streaming" }, waiting });
    const { text } = await say("status", { own: "owner", host: { ...host, whatWaits } });
    expect(text.split("\n").slice(2)).toEqual([
      expect.stringMatching(/^Today: 30 tokens/),
      "Run: r1 (streaming)",
      ...["Waiting:", "- compact: waits its turn", '- "hello": runs next'],
    ]);
    const none = await say("status", { own: "owner", host }, { contextLimits: async () => ({ contextWindow: 900 }) });
    expect(none.text).toContain("Context: n/a of 900 tokens");
    expect(none.text.split("\n").slice(3)).toEqual(["Run: none", "Waiting: nothing"]);
  });

  test("reads the agent's own state", async () => {
    const state = { thinkingLevel: "high" };
    const { text } = await say("status", { own: "owner", host: approvals().host, state }, { commands: undefined });
    expect(text).toContain("thinking high");
  });

  test.each<[string, object]>([
    ["owner", { limit: 50, states: ["pending"] }],
    ["ann", { limit: 50, states: ["pending"], person: "ann" }],
  ])("lists the open questions that %s may see", async (person, filter) => {
    const { asked, host } = approvals();
    await say("status", { own: person, behalf: person, host });
    expect(asked).toEqual([[filter, person]]);
  });

  test.each<[string, object | undefined, string]>([
    ["of a channel", { connector: "telegram" }, "telegram"],
    ["of no channel", undefined, "chat"],
  ])("an answer to one is the person's, on the surface %s", async (_title, source, surface) => {
    const { asked, host } = approvals();
    const { text } = await say("approve", { own: "owner", behalf: "owner", text: "kfmz", source, host });
    expect(text).toContain("is approved");
    expect(asked).toMatchObject([["kfmz", { approve: true }, { person: "owner", surface }]]);
  });
});

describe("what a person may do here", () => {
  const change = { text: "high" };
  test.each<[string, Said, object, boolean]>([
    ["the owner changes settings", { own: "owner", behalf: "owner", ...change }, { rights: {} }, true],
    ["a guest changes their own", { own: "ann", behalf: "ann", ...change }, { rights: {} }, true],
    ["a guest changes their own, by an account", { own: "test:7", behalf: "ann", ...change }, { rights: {} }, true],
    ["a guest does not change another's", { own: "ann", behalf: "bob", ...change }, { rights: {} }, false],
    ["everyone does where nothing is judged", { own: "ann", behalf: "bob", ...change }, {}, true],
    [
      "text that no one wrote in the session changes nothing about that",
      { own: "owner", behalf: "owner", ...change, state: { untrusted: true } },
      ...([{ rights: {} }, true] as const),
    ],
  ])("%s", async (_title, said, options, may) => {
    const { patch, text } = await say("think", said, options);
    expect([patch !== undefined, text.includes("You may not use")]).toEqual([may, !may]);
  });
});

test("a message that is no command is answered with nothing", async () => {
  const message = { body: { kind: "user", text: "hi" } } as unknown as Message;
  expect(await answerCommand({} as never, {} as never, {} as never, {} as never, message)).toEqual({ text: "" });
});
