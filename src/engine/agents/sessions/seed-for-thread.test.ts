/** What a new agent begins with: nothing of others, or as a thread its parent's words, files and people. No engine. */
import { describe, expect, it, test } from "vitest";
import { seededIds } from "../../../../test/kit/ids.ts";
import type { AgentDescriptor } from "../../../core/agent/descriptor.ts";
import { entryLine } from "../../../core/history/entry.ts";
import type { SessionKey } from "../../../core/ids.ts";
import type { PersonId } from "../../../core/people/person.ts";
import { seedFor } from "./thread-fork.ts";

const GROUP = { type: "user", connector: "test", userId: "ann", channelId: "g", peerKind: "group" } as const;
const THREAD: AgentDescriptor = { ...GROUP, threadId: 7 };
const [KEY, PARENT_KEY] = ["agent:main:test:group:g:thread:7", "agent:main:test:group:g"] as SessionKey[];
const said = (id: string, parentId: string, text: string, more: object = {}) => ({
  ...{ type: "message", id, parentId, role: "user", timestamp: 1, content: [{ type: "text", text }] },
  ...more,
});

interface World {
  readonly parent?: object;
  readonly entries?: readonly object[];
  readonly held?: readonly string[];
}

function world({ parent, entries = [], held = [] }: World = {}) {
  const asked: unknown[] = [];
  const all = [{ type: "start", id: "0-m", parentId: null, sessionId: "ps", timestamp: 1 }, ...entries] as {
    id: string;
  }[];
  const lines = all.map((entry, position) => ({ position, line: entryLine(entry as never) }));
  const record = { id: "p1", sessionId: "ps", leaf: all.at(-1)?.id, state: {}, person: "test:bob", ...parent };
  const store = {
    agentByKey: async (key: unknown) => {
      asked.push(key);
      return parent && record;
    },
    linesBack: async (_id: string, { before = lines.length }: { before?: number }) => lines.slice(0, before).reverse(),
    holdsFile: async (_id: string, file: string) => held.includes(file),
  };
  const ports = { store, ids: seededIds("seed"), clock: { now: () => 9 } } as never;
  const seed = async (more: object = {}, inherits?: () => boolean) => {
    const agent = { descriptor: THREAD, profile: "main", sessionKey: KEY, person: "test:ann" as PersonId, ...more };
    const made = await seedFor(ports, agent as never, inherits);
    const texts = made.lines.flatMap((line) => {
      const { content } = JSON.parse(line) as { content?: { text: string }[] };
      return content?.map(({ text }) => text) ?? [];
    });
    return { ...made, texts };
  };
  return { seed, asked };
}

describe("a new agent has nothing of another", () => {
  test.each<[string, object, (() => boolean) | undefined]>([
    ["if it is no thread", { descriptor: GROUP, sessionKey: KEY }, undefined],
    ["if it is no conversation", { descriptor: { type: "heartbeat", threadId: 7 } }, undefined],
    ["if it does not inherit", {}, () => false],
    ["if its key has no parent", { sessionKey: "agent:main:main" }, undefined],
  ])("%s: no parent is looked for", async (_title, more, inherits) => {
    const { seed, asked } = world({ parent: {}, entries: [said("1-a", "0-m", "one")] });
    const { texts, person, holds, createdAt } = await seed(more, inherits);
    expect([texts, asked, person, holds, createdAt]).toEqual([[], [], "test:ann", undefined, 9]);
  });

  it("if its parent does not exist", async () => {
    const { seed, asked } = world();
    const { texts, sessionKey, state } = await seed();
    expect([texts, asked, sessionKey]).toEqual([[], [PARENT_KEY], KEY]);
    expect(state).not.toHaveProperty("speakers");
  });
});

describe("a thread begins with its parent's words", () => {
  const entries = [said("1-a", "0-m", "one", { runId: "r1" }), said("2-b", "1-a", "two", { runId: "r2" })];
  test.each<[string, object, readonly string[]]>([
    ["all of them, if it rests", {}, ["one", "two"]],
    ["up to its open run", { runId: "r2" }, ["one"]],
    ["none, if the first run is open", { runId: "r1" }, []],
    ["all of them, if the open run has written none", { runId: "r3" }, ["one", "two"]],
  ])("%s", async (_title, parent, expected) => {
    expect((await world({ parent, entries }).seed()).texts).toEqual(expected);
  });

  test.each([
    ["if it rests", {}, ["be brief", "two"]],
    ["if a run is open", { runId: "r2" }, ["be brief"]],
  ])("from the text of its last reset on, %s", async (_title, parent, expected) => {
    const reset = { type: "reset", id: "2-r", parentId: "1-a", sessionId: "ps2", timestamp: 2, message: "be brief" };
    const own = [said("1-a", "0-m", "one"), reset, said("3-b", "2-r", "two", { runId: "r2" })];
    const { texts } = await world({ parent, entries: own }).seed();
    expect(texts).toEqual(expected.map((text) => expect.stringContaining(text)));
  });

  it("also those that no run has written, if none is open", async () => {
    const own = [said("1-a", "0-m", "one"), said("2-b", "1-a", "two")];
    expect((await world({ parent: {}, entries: own }).seed()).texts).toEqual(["one", "two"]);
  });
});

test.each<[string, object, readonly string[] | undefined, boolean]>([
  ["the parent's person", {}, ["test:bob"], false],
  ["a parent of the same person: no one else", { person: "test:ann" }, undefined, false],
  ["those who spoke there, and the parent's person", { state: { speakers: ["eve"] } }, ["eve", "test:bob"], false],
  [
    "those who spoke in a group, which is itself no one",
    { person: "test:group:g", state: { speakers: ["eve"] } },
    ["eve"],
    false,
  ],
  ["a parent of no one", { person: undefined }, undefined, false],
  ["untrusted text, which leaves its mark", { person: "test:ann", state: { untrusted: true } }, undefined, true],
  ["a prompt of untrusted text", { person: "test:ann", state: { madeUntrusted: true } }, undefined, true],
])("a thread has heard %s", async (_title, parent, speakers, untrusted) => {
  const { state, id, person, sessionId, lines } = await world({ parent }).seed();
  expect([state.speakers, state.untrusted ?? false]).toEqual([speakers, untrusted]);
  expect([typeof id, person, state.groupId]).toEqual(["string", "test:ann", "g"]);
  expect(JSON.parse(lines[1] ?? "")).toMatchObject({ type: "start", sessionId });
});

test.each<[string, readonly string[], readonly string[] | undefined]>([
  ["those that its parent holds, each once", ["f1", "f3"], ["f1", "f3"]],
  ["none, if its parent holds none", [], undefined],
])("a thread holds the files that are named there: %s", async (_title, held, expected) => {
  const file = (id: string) => ({ type: "text", text: id, file: { id, as: "reference" } });
  const content = [{ type: "text", text: "see" }, ...["f1", "f2", "f3", "f1"].map(file)];
  const entries = [said("1-a", "0-m", "", { content })];
  expect((await world({ parent: {}, entries, held }).seed()).holds).toEqual(expected);
});
