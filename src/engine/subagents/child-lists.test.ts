/** Children as people see and name them, and what a new child inherits: tables. */

import { describe, expect, test } from "vitest";
import { virtualClock } from "../../../test/kit/clock.ts";
import { seededIds } from "../../../test/kit/ids.ts";
import { type SettingsPart, testSettings } from "../../../test/kit/settings.ts";
import type { AgentRecord } from "../../core/agent/agent.ts";
import type { SubagentRunRecord } from "../../core/agent/subagent-run.ts";
import type { AgentId } from "../../core/ids.ts";
import type { RunRecord } from "../../core/run/run.ts";
import { RunEvents } from "../runtime/run-events.ts";
import { describeSubagentRuns, nameOf, stateOf } from "./describe.ts";
import { findSubagentRun } from "./find.ts";
import { lastReply } from "./last-reply.ts";
import { LiveTree } from "./live-tree.ts";
import { type SpawnRequest, spawnSubagent } from "./spawn.ts";

const record = (more: Partial<SubagentRunRecord> = {}): SubagentRunRecord =>
  ({
    runId: "abcdef-1",
    childSessionKey: "key",
    childAgentId: "kid",
    label: "Dig",
    task: "dig",
    createdAt: 1_000,
    ...more,
  }) as SubagentRunRecord;

describe("finding a child", () => {
  const all = [
    record(),
    record({ runId: "abcdef-2", childSessionKey: "key2", childAgentId: "kid2", label: "Twice" }),
    record({ runId: "123456", childSessionKey: "key3", childAgentId: "kid3", label: "Twice" }),
  ];
  test.each<[string, string | RegExp]>([
    ["1", "abcdef-1"],
    ["#2", "abcdef-2"],
    [" key2 ", "abcdef-2"],
    ["kid3", "123456"],
    ["Dig", "abcdef-1"],
    ["123456", "123456"],
    ["abcdef", "abcdef-1"],
    ["abcde", /There is no child "abcde"/],
    ["4", /There is no child "4"/],
    ["Twice", /2 children are called "Twice"/],
    ["", /There is no child ""/],
    ["0x1", /There is no child/],
    ["1e0", /There is no child/],
  ])("%j", (who, found) => {
    if (typeof found === "string") expect(findSubagentRun(all, who).runId).toBe(found);
    else expect(() => findSubagentRun(all, who)).toThrow(found);
  });
});

describe("the list of children", () => {
  const run = (startedAt: number) => ({ id: "abcdef-1", startedAt }) as unknown as RunRecord;
  test.each<[Partial<SubagentRunRecord>, RunRecord | undefined, string]>([
    [{}, undefined, "waiting"],
    [{}, run(1), "working"],
    [{ endedAt: 5 }, run(1), "ended"],
  ])("%j is %s", (more, at, state) => {
    expect(stateOf(record(more), at)).toBe(state);
  });
  test("says how long each has worked, from its run, its start or its making", () => {
    const took = (more: Partial<SubagentRunRecord>, at?: RunRecord) =>
      /\(([^)]*)\)/.exec(describeSubagentRuns([record(more)], new Map(at ? [["abcdef-1", at]] : []), 61_000))?.[1];
    expect([
      took({}),
      took({ startedAt: 31_000 }),
      took({ startedAt: 31_000 }, run(51_000)),
      took({ endedAt: 11_000 }),
    ]).toEqual(["1m 0s", "30s", "10s", "10s"].map((text) => expect.stringContaining(text.split(" ")[0] ?? "")));
    expect(describeSubagentRuns([], new Map(), 0)).toBe("No children.");
    expect(describeSubagentRuns([record(), record({ endedAt: 5 })], new Map(), 61_000)).toMatch(
      /^1 at work, 1 ended\.\n1\. Dig: waiting .*\n2\. Dig: ended/,
    );
    expect(nameOf(record({ label: "", task: "two\n words" }))).toBe("two words");
    expect(nameOf(record({ label: "x".repeat(81) })).length).toBeLessThanOrEqual(80);
  });
});

test("the last words of a child are its newest text that can be read", async () => {
  const said = (role: string, ...content: object[]) => JSON.stringify({ role, content });
  const last = (...lines: string[]) =>
    lastReply({ linesBack: async () => lines.map((line, position) => ({ line, position })) } as never, "a" as AgentId);
  const text = (words?: string) => ({ type: "text", text: words });
  expect(
    await last(
      said("user", text("assistant")),
      '{"role":"assistant"',
      said("assistant", { type: "thinking" }),
      said("assistant", text(" a"), text(undefined), text("b ")),
    ),
  ).toBe("ab");
  expect(await last(said("assistant"), '{"role":"assistant"}')).toBeUndefined();
});

describe("a listener of the tree", () => {
  test.each<[string, boolean]>([
    ["start", true],
    ["restart", true],
    ["end", true],
    ["step", false],
    ["delta", false],
  ])("hears of %s: %s", async (type, hears) => {
    const clock = virtualClock();
    const events = new RunEvents({ warn: () => {} } as never);
    const heard: unknown[] = [];
    const stop = new LiveTree({ store: {} as never, clock, log: {} as never }, events).onChange((change) =>
      heard.push(change),
    );
    events.emit({ agentId: "a", runId: "r", step: 1, attempt: 1 } as never, { type } as never);
    await clock.advance(99);
    expect(heard).toEqual([]);
    await clock.advance(1);
    expect(heard).toEqual(hears ? [{ agents: ["a"], all: false }] : []);
    stop();
    events.emit({ agentId: "a", runId: "r", step: 1, attempt: 1 } as never, { type } as never);
    await clock.advance(1_000);
    expect(heard).toHaveLength(hears ? 1 : 0);
  });
});

describe("what a new child inherits", () => {
  const requester = (state: object = {}, profile = "main"): AgentRecord =>
    ({
      id: "mum",
      profile,
      sessionKey: "agent:main:main",
      descriptor: { type: "user" },
      state,
    }) as unknown as AgentRecord;
  const made = async (parent: AgentRecord, more: Partial<SpawnRequest> = {}, part: SettingsPart = {}) => {
    const ports = {
      parts: {},
      settings: testSettings({ subagents: { allowAgents: ["*"] }, profiles: { work: {}, home: {} } }, part),
      store: { openSubagentRuns: async () => 0 },
      ids: seededIds("spawn"),
      clock: virtualClock(),
      tools: { list: () => [{ name: "read" }, { name: "exec" }] },
    };
    const { ops } = await spawnSubagent(ports as never, { tool: "t", requester: parent, task: "dig", ...more });
    const post = ops.find((op) => op.op === "message.post");
    return post?.op === "message.post" && "create" in post.to ? post.to.create : undefined;
  };
  test.each<[string, AgentRecord, Partial<SpawnRequest>, SettingsPart, object]>([
    [
      "its profile, and no list of tools",
      requester(),
      {},
      {},
      { inheritedTools: undefined, inheritedProfiles: undefined, rules: undefined },
    ],
    [
      "the tools of a parent under another profile",
      requester(),
      { agentId: "work" },
      {},
      { inheritedTools: ["read", "exec"], inheritedProfiles: ["main"] },
    ],
    [
      "the tools of a parent that has inherited some",
      requester({ inheritedTools: ["read"] }),
      {},
      {},
      { inheritedTools: ["read", "exec"] },
    ],
    [
      "all profiles above, each once, without its own",
      requester({ inheritedProfiles: ["main", "home", "work"] }),
      { agentId: "Work" },
      {},
      { inheritedProfiles: ["main", "home"] },
    ],
    [
      "its rules and permissions",
      requester({ rules: [{ deny: "x" }], permissions: { network: true } }),
      {},
      {},
      { rules: [{ deny: "x" }], permissions: { network: true } },
    ],
    [
      "the permissions it is given",
      requester({ permissions: { network: true } }),
      { permissions: { network: false } },
      {},
      { permissions: { network: false } },
    ],
    [
      "where commands run, without why they do not",
      requester(),
      {},
      { profiles: { main: { exec: { host: "node" } } } },
      { inheritedExec: { host: "node" } },
    ],
  ])("%s", async (_title, parent, more, settings, state) => {
    expect((await made(parent, more, settings))?.state).toMatchObject(JSON.parse(JSON.stringify(state)) as object);
    for (const [name, value] of Object.entries(state))
      if (value === undefined) expect((await made(parent, more, settings))?.state).toHaveProperty(name, undefined);
  });
  test("its parent and its name", async () => {
    const seed = await made(requester(), { label: " Dig " });
    expect(seed).toMatchObject({
      descriptor: { type: "subagent", parentAgentId: "mum", name: "Dig" },
      state: { spawnedBy: "agent:main:main", label: "Dig" },
    });
    expect((await made(requester()))?.descriptor).toMatchObject({ name: "subagent" });
  });
});
