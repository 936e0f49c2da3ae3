/** The small parts of an agent: its label, its processes and found tools, its threads, where it speaks, addresses on shards. */
import { describe, expect, test } from "vitest";
import type { AgentRecord } from "./agent.ts";
import { TREE_LIMITS } from "./agent-tree.ts";
import { type BackgroundProcess, MAX_PROCESSES, stateWithProcesses } from "./background-process.ts";
import { type AgentDescriptor, isForeground, parseDescriptor } from "./descriptor.ts";
import { stateWithFound } from "./found-tools.ts";
import { STATE_VERSION } from "./fresh-state.ts";
import { labelOf } from "./label-of.ts";
import { shardAddress, shardTarget } from "./shard-address.ts";
import { skillSourceSchema } from "./skill-listing.ts";
import { skillsSnapshotSchema } from "./skills-snapshot.ts";
import { whereItSpeaks } from "./speaking-target.ts";
import type { AgentState } from "./state.ts";
import { subagentRunRecordSchema } from "./subagent-run.ts";
import { swarmRecordSchema } from "./swarm.ts";
import { systemPromptReportSchema } from "./system-prompt-report.ts";
import { inheritsParent } from "./thread-settings.ts";

const stateOf = (rest: object = {}): AgentState => ({ version: 1, ...rest }) as unknown as AgentState;
const user = (rest: object = {}): Extract<AgentDescriptor, { type: "user" }> => ({
  type: "user",
  connector: "telegram",
  userId: "7",
  channelId: "c7",
  ...rest,
});

test.each([
  [{ type: "subagent", id: "s", parentAgentId: "p", name: "digger" }, "digger"],
  [{ type: "permanent", id: "p", name: "Ada", description: "d", systemPrompt: "s" }, "Ada"],
  [{ type: "permanent", id: "p", name: "Ada", description: "d", systemPrompt: "s", username: "ada" }, "Ada (@ada)"],
  [{ type: "cron", id: "c" }, "cron task"],
  [{ type: "cron", id: "c", name: "mail" }, "mail"],
  [{ type: "system", tag: "clean" }, "clean"],
  [{ type: "heartbeat" }, "heartbeat"],
  [{ type: "swarm", id: "s", contact: "x" }, "swarm"],
  [user(), "user"],
] as const)("the agent %j is called %s on screens", (descriptor, label) => {
  expect(labelOf(descriptor as AgentDescriptor)).toBe(label);
  expect(isForeground(descriptor as AgentDescriptor)).toBe(descriptor.type === "user");
  expect(parseDescriptor(descriptor, "x")).toEqual(descriptor);
});

test("a stored descriptor with a wrong shape is an error that says where", () => {
  expect(() => parseDescriptor({ type: "user" }, "agent 5")).toThrow(/^The descriptor in agent 5 is not valid/);
});

describe("the background processes of an agent", () => {
  const process = (id: string): BackgroundProcess => ({ id }) as BackgroundProcess;
  const ids = (state: AgentState | undefined): unknown => state?.processes?.map(({ id }) => id);
  const before = stateOf({ processes: [process("a"), process("b")] });
  test("stay as they are without changes", () => {
    expect(stateWithProcesses(before, [])).toBeUndefined();
  });
  test("grow and shrink, keep the rest of the state, and replace one with the same id", () => {
    expect(ids(stateWithProcesses(before, [{ started: process("c") }]))).toEqual(["a", "b", "c"]);
    expect(ids(stateWithProcesses(before, [{ forgotten: ["a"] }, {}]))).toEqual(["b"]);
    expect(ids(stateWithProcesses(before, [{ started: process("a") }]))).toEqual(["b", "a"]);
    expect(ids(stateWithProcesses(stateOf(), [{ started: process("a") }]))).toEqual(["a"]);
    const none = stateWithProcesses(before, [{ forgotten: ["a", "b"] }]);
    expect(none).toEqual({ version: 1, processes: undefined });
    expect(stateWithProcesses(stateOf(), [{}])).toEqual({ version: 1, processes: undefined });
  });
});

describe("the tools that an agent has found", () => {
  const found = (before: readonly string[] | undefined, now: readonly string[]): unknown =>
    stateWithFound(stateOf({ foundTools: before }), now);
  test("are kept with the newest last, each once", () => {
    expect(found(undefined, ["a", "b", "a"])).toEqual({ version: 1, foundTools: ["a", "b"] });
    expect(found(["a", "b"], ["a", "c"])).toEqual({ version: 1, foundTools: ["b", "a", "c"] });
  });
  test("do not change if all are known", () => {
    expect(found(["a", "b"], ["b"])).toBeUndefined();
    expect(found(undefined, [])).toBeUndefined();
  });
  test("are at most twelve, without the oldest", () => {
    const many = Array.from({ length: 12 }, (_, n) => `t${n}`);
    expect((found(many, ["new"]) as AgentState).foundTools).toEqual([...many.slice(1), "new"]);
    expect((found(many, ["t3", "new"]) as AgentState).foundTools?.slice(-2)).toEqual(["t3", "new"]);
  });
});

test.each([
  ["a direct message", user(), { inheritParent: true }, true],
  ["a direct message", user(), { inheritParent: false }, false],
  ["the terminal", user({ connector: "terminal" }), { inheritParent: true }, false],
  ["the API", user({ connector: " API " }), { inheritParent: true }, false],
  [
    "a terminal that is named",
    user({ connector: "terminal" }),
    { inheritParent: false, byChannel: { " Terminal ": { inheritParent: true } } },
    true,
  ],
  [
    "a channel that is named",
    user(),
    { inheritParent: true, byChannel: { telegram: { inheritParent: false } } },
    false,
  ],
  ["another one that is named", user(), { inheritParent: true, byChannel: { slack: { inheritParent: false } } }, true],
  ["no person", { type: "heartbeat" } as const, { inheritParent: true }, false],
])("a thread of %s with %j inherits: %#", (_name, descriptor, settings, expected) => {
  expect(inheritsParent(settings, descriptor)).toBe(expected);
});

describe("where an agent speaks", () => {
  const agent = (descriptor: AgentDescriptor, state: object = {}, lastHumanAt?: number): AgentRecord =>
    ({ descriptor, state: stateOf(state), lastHumanAt }) as AgentRecord;
  const route = { channel: "slack", to: "C1" };
  test.each([
    ["its last route", agent(user(), { deliveryContext: route }), route],
    [
      "the first one",
      agent(user({ accountId: "a", threadId: "t" })),
      { channel: "telegram", to: "c7", accountId: "a", threadId: "t" },
    ],
    ["nowhere, if no person writes to it", agent({ type: "heartbeat" }, { deliveryContext: route }), undefined],
    ["nowhere at a terminal where no one has written", agent(user({ connector: "terminal" })), undefined],
    [
      "at a terminal where someone has",
      agent(user({ connector: "terminal" }), {}, 5),
      { channel: "terminal", to: "c7" },
    ],
    ["on a channel where no one has written", agent(user()), { channel: "telegram", to: "c7" }],
  ])("%s", (_name, record, expected) => {
    expect(whereItSpeaks(record)).toEqual(expected);
  });
});

test.each([
  [" east/main ", { shard: "east", agent: "main" }],
  ["east/agent:main:main", { shard: "east", agent: "agent:main:main" }],
  ["east/a/b", { shard: "east", agent: "a/b" }],
  ["north/main", undefined],
  ["east/", undefined],
  ["east/a b", undefined],
  ["main", undefined],
  ["", undefined],
])("the address %j on the shards east and west", (text, expected) => {
  expect(shardAddress(text, ["east", "west"])).toEqual(expected);
  if (expected) expect(shardTarget(expected)).toEqual({ channel: "shard", accountId: "east", to: expected.agent });
});

const child = { runId: "r", childSessionKey: "c", requesterSessionKey: "q", requesterDisplayKey: "", task: "" };
const spawned = { ...child, cleanup: "keep", createdAt: 1 };
const swarm = { nametag: "n", owner: "o", profile: "p", firstName: "f", systemPrompt: "s", memory: true, createdAt: 1 };
const report = { chars: 1, parts: [{ name: "", source: "file", chars: 1 }], missing: [] };
const marked = (untrusted: boolean) => ({ ...report, parts: [{ ...report.parts[0], untrusted }] });

test.each<[string, { safeParse(value: unknown): { success: boolean } }, object, boolean]>([
  ["a child", subagentRunRecordSchema, spawned, true],
  ["a child without a run", subagentRunRecordSchema, { ...spawned, runId: "" }, false],
  ["a child without a key", subagentRunRecordSchema, { ...spawned, childSessionKey: "" }, false],
  ["a child of no one", subagentRunRecordSchema, { ...spawned, requesterSessionKey: "" }, false],
  ["a swarm", swarmRecordSchema, swarm, true],
  ["a swarm without a name", swarmRecordSchema, { ...swarm, nametag: "" }, false],
  ["a swarm of 80 letters", swarmRecordSchema, { ...swarm, nametag: "n".repeat(80) }, true],
  ["a swarm of 81 letters", swarmRecordSchema, { ...swarm, nametag: "n".repeat(81) }, false],
  ["a swarm of no one", swarmRecordSchema, { ...swarm, owner: "" }, false],
  ["a swarm without a profile", swarmRecordSchema, { ...swarm, profile: "" }, false],
  ["a swarm without a first name", swarmRecordSchema, { ...swarm, firstName: "" }, false],
  ["a swarm without a prompt", swarmRecordSchema, { ...swarm, systemPrompt: "" }, false],
  ["skills", skillsSnapshotSchema, { version: 1, skills: [] }, true],
  ["skills of another version", skillsSnapshotSchema, { version: 2, skills: [] }, false],
  ["a report", systemPromptReportSchema, report, true],
  ["a report of a marked part", systemPromptReportSchema, marked(true), true],
  ["a report with another mark", systemPromptReportSchema, marked(false), false],
])("%s is read: %#", (_title, schema, value, ok) => {
  expect(schema.safeParse(value).success).toBe(ok);
});

test("an agent has sixteen processes at most, and a state of the first version", () => {
  expect([MAX_PROCESSES, STATE_VERSION]).toEqual([16, 1]);
});

test("a tree is read to five levels and two hundred agents, and on request to 64 levels and two thousand", () => {
  expect(TREE_LIMITS).toEqual({ depth: 5, agents: 200, maxDepth: 64, maxAgents: 2_000 });
});

test.each<[string, object, boolean]>([
  ["a place of one sign", { at: "." }, true],
  ["no place", { at: "" }, false],
  ["a long place", { at: "p".repeat(2_000) }, true],
  ["a longer one", { at: "p".repeat(2_001) }, false],
  ["a tag of one sign", { ref: "1" }, true],
  ["an empty tag", { ref: "" }, false],
  ["a long tag", { ref: "t".repeat(200) }, true],
  ["a longer tag", { ref: "t".repeat(201) }, false],
  ["a commit", { commit: "a".repeat(40) }, true],
  ["a shorter commit", { commit: "a".repeat(39) }, false],
  ["a commit of another hash", { commit: "a".repeat(64) }, true],
  ["a longer commit", { commit: "a".repeat(65) }, false],
  ["a long name", { skill: "s".repeat(64) }, true],
  ["a longer name", { skill: "s".repeat(65) }, false],
  ["another kind", { kind: "usb" }, false],
])("a skill from %s is known: %#", (_, more, ok) => {
  expect(skillSourceSchema.safeParse({ kind: "git", at: "https://example.org", ...more }).success).toBe(ok);
});
