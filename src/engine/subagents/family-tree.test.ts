/** Trees of agents, who gets a report, what a report says and when a child is archived: tables over a store made of records. */
import { describe, expect, test } from "vitest";
import type { AgentRecord } from "../../core/agent/agent.ts";
import type { SubagentRunRecord } from "../../core/agent/subagent-run.ts";
import type { AgentId, RunId } from "../../core/ids.ts";
import type { Message } from "../../core/message/message.ts";
import type { RunResult } from "../../core/run/run.ts";
import type { Op } from "../../core/store/change.ts";
import type { LiveRun } from "../runtime/live-run.ts";
import { readTree } from "./live-tree.ts";
import { endOfRun, endWithoutRun, type ReportSettings } from "./report.ts";
import { subagentSettings } from "./settings.ts";
import { stopChildrenOps, stopOps } from "./stop.ts";
import { sweepSubagentRuns } from "./sweep.ts";
import { ancestorsOf, depthOf, descendantsOf, stopOf } from "./tree.ts";

const NOW = 1_000_000;
type Made = { parent?: string; more?: object };

/** Agents by name; one with a parent is its child. */
function world(agents: Record<string, Made>, runs: readonly Partial<SubagentRunRecord>[] = []) {
  const record = (name: string): AgentRecord | undefined => {
    const made = agents[name];
    if (!made) return undefined;
    const descriptor = made.parent
      ? { type: "subagent", id: name, parentAgentId: made.parent, name: `the ${name}` }
      : { type: "user", connector: "test", userId: name, channelId: name };
    return {
      ...{
        id: name,
        sessionKey: `key:${name}`,
        descriptor,
        state: { updatedAt: 1, stats: {} },
        waiting: 0,
        createdAt: 1,
      },
      ...made.more,
    } as unknown as AgentRecord;
  };
  const asked: object[] = [];
  const committed: Op[][] = [];
  const byParent = (parent: string) => Object.keys(agents).filter((name) => agents[name]?.parent === parent);
  const store = {
    agent: async (id: string) => record(id),
    agentByKey: async (key: string) => record(key.slice(4)),
    roots: async ({ limit, after }: { limit: number; after?: string }) => {
      const names = Object.keys(agents).filter((name) => !agents[name]?.parent);
      asked.push({ roots: limit });
      const from = after === undefined ? 0 : names.indexOf(after) + 1;
      return names.slice(from, from + limit).map(record);
    },
    children: async (id: string, { limit, after = "" }: { limit: number; after?: string }) => {
      asked.push({ id, limit });
      return byParent(id)
        .filter((name) => name > after)
        .slice(0, limit)
        .map(record);
    },
    subagentRuns: async ({
      requesterSessionKey,
      dueBy,
      limit,
    }: {
      requesterSessionKey?: string;
      dueBy?: number;
      limit?: number;
    } = {}) =>
      runs
        .filter((run) => requesterSessionKey === undefined || run.requesterSessionKey === requesterSessionKey)
        .filter((run) => dueBy === undefined || (run.archiveAtMs !== undefined && run.archiveAtMs <= dueBy))
        .slice(0, limit),
    subagentRun: async (id: string) => runs.find(({ runId }) => runId === id),
    openSubagentRuns: async (key: string) =>
      runs.filter((run) => run.requesterSessionKey === key && run.endedAt === undefined).length,
    waits: async ({ from }: { from: string }) => (from === "busy" ? [{ to: "x" }] : []),
    budget: async (key: string) => (key === "tree:root" ? { spent: { tokens: 9 } } : undefined),
    linesBack: async () => [],
    commit: async ({ ops }: { ops: Op[] }) => {
      committed.push(ops);
      return { ok: true, results: [] };
    },
  };
  return { store: store as never, record: (name: string) => record(name) as AgentRecord, asked, committed };
}
const chain = (length: number): Record<string, Made> =>
  Object.fromEntries(Array.from({ length }, (_, n) => [`c${n}`, n === 0 ? {} : { parent: `c${n - 1}` }]));
const names = (agents: readonly AgentRecord[]): string[] => agents.map(({ id }) => id);

describe("which agent started which", () => {
  test("ancestors are the nearest first, as far as they are there, and end in a circle", async () => {
    const { store, record } = world({
      root: {},
      mid: { parent: "root" },
      leaf: { parent: "mid" },
      lost: { parent: "gone" },
    });
    expect(names(await ancestorsOf(store, record("leaf")))).toEqual(["mid", "root"]);
    expect(names(await ancestorsOf(store, record("lost")))).toEqual([]);
    expect([
      await depthOf(store, record("root")),
      await depthOf(store, record("leaf")),
      await depthOf(store, record("lost")),
    ]).toEqual([0, 2, 1]);
    const circle = world({ a: { parent: "b" }, b: { parent: "a" } });
    expect(await ancestorsOf(circle.store, circle.record("a"))).toHaveLength(64);
  });

  test("the stop that holds is its own or the nearest above", async () => {
    const stopped = (reason: string) => ({ more: { stopped: { at: 1, reason } } });
    const { store, record } = world({
      root: stopped("r"),
      mid: { parent: "root" },
      leaf: { parent: "mid" },
      own: { parent: "root", ...stopped("o") },
    });
    expect(await stopOf(store, record("leaf"))).toEqual({ agentId: "root", mark: { at: 1, reason: "r" } });
    expect(await stopOf(store, record("own"))).toMatchObject({ agentId: "own", mark: { reason: "o" } });
    const unread = { agent: () => Promise.reject(new Error("not read")) } as never;
    expect(await stopOf(unread, record("own"))).toMatchObject({ agentId: "own" });
    const free = world({ root: {}, leaf: { parent: "root" } });
    expect(await stopOf(free.store, free.record("leaf"))).toBeUndefined();
  });

  test("descendants are found page by page, and to a depth of 64", async () => {
    const many: Record<string, Made> = { root: {} };
    for (let n = 0; n < 401; n++) many[`k${String(n).padStart(3, "0")}`] = { parent: "root" };
    const { store, asked } = world(many);
    const found: string[] = [];
    for await (const { id } of descendantsOf(store, "root" as AgentId)) found.push(id);
    expect(found).toHaveLength(401);
    expect(asked.filter((one) => (one as { id: string }).id === "root")).toEqual(
      Array(3).fill({ id: "root", limit: 200 }),
    );
    const deep = world(chain(70));
    let count = 0;
    for await (const _one of descendantsOf(deep.store, "c0" as AgentId)) count++;
    expect(count).toBe(64);
  });

  test("parents come before their children", async () => {
    const { store } = world({ r: {}, a: { parent: "r" }, b: { parent: "a" }, c: { parent: "r" } });
    const found: string[] = [];
    for await (const { id } of descendantsOf(store, "r" as AgentId)) found.push(id);
    expect(found).toEqual(["a", "b", "c"]);
  });
});

describe("stopping a tree", () => {
  const kinds = (ops: readonly Op[]) =>
    ops.map((op) =>
      op.op === "message.post"
        ? `post ${(op.to as { agentId: string }).agentId}`
        : op.op === "approval.withdraw"
          ? `withdraw ${(op.of as { agentId: string }).agentId}`
          : op.op,
    );
  test("marks the top, and tells those that are at work", async () => {
    const { store } = world({
      r: { more: { runId: "x" } },
      a: { parent: "r" },
      b: { parent: "a", more: { waiting: 1 } },
    });
    const ops = await stopOps(store, "r" as AgentId, "why", NOW);
    expect(kinds(ops)).toEqual(["agent.stop", "withdraw r", "post r", "withdraw a", "withdraw b", "post b"]);
    expect(ops[0]).toEqual({ op: "agent.stop", agentId: "r", mark: { at: NOW, reason: "why" } });
    expect(kinds(await stopOps(store, "gone" as AgentId, "why", NOW))).toEqual(["agent.stop"]);
  });
  test("of its children stops those that are open", async () => {
    const run = (childAgentId: string | undefined, endedAt?: number) => ({
      requesterSessionKey: "key:r",
      childAgentId,
      endedAt,
    });
    const { store, record } = world({ r: {}, a: { parent: "r" }, b: { parent: "r" } }, [
      run("a"),
      run("b", 5),
      run(undefined),
    ]);
    const { ops, stopped } = await stopChildrenOps(store, record("r"), NOW);
    expect([stopped, kinds(ops)]).toEqual([1, ["agent.stop", "withdraw a"]]);
    const one = world({ r: {}, a: { parent: "r" } }, [run("a")]);
    expect((await stopChildrenOps(one.store, one.record("r"), NOW)).stopped).toBe(1);
    const none = world({ r: {}, b: { parent: "r" } }, [run("b", 5)]);
    expect(await stopChildrenOps(none.store, none.record("r"), NOW)).toEqual({ ops: [], stopped: 0 });
  });
});

describe("the tree that people see", () => {
  const family: Record<string, Made> = {
    root: {
      more: {
        state: { updatedAt: 5, stats: { p: { m: { total: 3 }, n: { total: 4 } } }, label: "Top" },
        lastHumanAt: 7,
      },
    },
    a: { parent: "root", more: { runId: "r1" } },
    aa: { parent: "a", more: { waiting: 2 } },
    b: { parent: "root", more: { stopped: { at: 1, reason: "x" }, runId: "r2" } },
    busy: { more: { runId: "r3", createdAt: 9 } },
  };
  const shape = (nodes: readonly { id: string; children: readonly never[]; more?: boolean }[]): unknown =>
    nodes.map(({ id, children, more }) => [
      id,
      ...(children.length > 0 ? [shape(children)] : []),
      ...(more ? ["…"] : []),
    ]);
  const read = async (options: object = {}) => {
    const tree = await readTree(world(family).store, NOW, options);
    return { ...tree, shape: shape(tree.roots as never) };
  };
  test.each<[string, object, unknown, boolean]>([
    ["whole", {}, [["root", [["a", [["aa"]]], ["b"]]], ["busy"]], false],
    ["below one", { root: "a" }, [["a", [["aa"]]]], false],
    ["to a depth", { depth: 1 }, [["root", [["a", "…"], ["b"]]], ["busy"]], false],
    ["of tops only", { depth: 0 }, [["root", "…"], ["busy"]], false],
    ["within a limit, level by level", { limit: 4 }, [["root", [["a", "…"], ["b"]]], ["busy"]], false],
    ["within less", { limit: 3 }, [["root", [["a", "…"]], "…"], ["busy"]], false],
    ["with more tops than fit", { limit: 1 }, [["root", "…"]], true],
    ["of at least one", { limit: 0 }, [["root", "…"]], true],
    [
      "of those that may be shown",
      { shows: ({ id }: { id: string }) => id !== "a" && id !== "busy" },
      [["root", [["b"]]]],
      false,
    ],
  ])("%s", async (_title, options, expected, more) => {
    const tree = await read(options);
    expect(tree.shape).toEqual(expected);
    expect(tree.more).toBe(more);
    expect(tree.at).toBe(NOW);
  });
  test("says of each what it does and has used", async () => {
    const [root, busy] = (await read()).roots;
    expect(root).toMatchObject({
      label: "Top",
      state: "resting",
      tokens: 7,
      lastActivityAt: 7,
      treeSpent: { tokens: 9 },
      sessionKey: "key:root",
      kind: "user",
    });
    expect(root?.spent).toBeUndefined();
    expect(root?.waitsFor).toBeUndefined();
    expect(root?.children.map(({ id, state, label }) => [id, state, label])).toEqual([
      ["a", "running", "the a"],
      ["b", "stopped", "the b"],
    ]);
    expect(root?.children[0]?.children[0]).toMatchObject({ state: "waiting", waiting: 2 });
    expect(busy).toMatchObject({ waitsFor: ["x"], runId: "r3", lastActivityAt: 9 });
  });
  test("of one person is found behind the agents of many others, up to a limit", async () => {
    const among = async (others: number, limit: number) => {
      const all: Record<string, Made> = {};
      for (let n = 0; n < others; n++) all[`other${n}`] = {};
      for (const name of ["own1", "own2", "own3"]) all[name] = {};
      all.kid = { parent: "own1" };
      const { store, asked } = world(all);
      const shows = ({ id }: AgentRecord): boolean => id.startsWith("own") || id === "kid";
      const tree = await readTree(store, NOW, { limit, shows });
      const pages = asked.filter((one) => "roots" in one).length;
      return [shape(tree.roots as never), tree.more, pages];
    };
    expect(await among(300, 200)).toEqual([[["own1", [["kid"]]], ["own2"], ["own3"]], false, 1]);
    expect(await among(1_000, 2)).toEqual([[["own1", "…"], ["own2"]], true, 3]);
    expect(await among(499, 3)).toEqual([[["own1", "…"], ["own2"], ["own3"]], false, 2]);
    expect(await among(10_000, 5)).toEqual([[], false, 20]);
  });
  test("without a choice reads no more than it shows", async () => {
    const { store, asked } = world(family);
    await readTree(store, NOW, { limit: 4 });
    expect(asked).toEqual([
      { roots: 5 },
      { id: "root", limit: 3 },
      { id: "busy", limit: 1 },
      { id: "a", limit: 1 },
      { id: "b", limit: 1 },
    ]);
  });
  test("below no one is an error", async () => {
    await expect(read({ root: "gone" })).rejects.toThrow("There is no agent gone");
  });
});

describe("the report of a child", () => {
  const record = (more: Partial<SubagentRunRecord> = {}): SubagentRunRecord =>
    ({
      ...{
        runId: "run",
        childAgentId: "kid",
        requesterAgentId: "mum",
        requesterSessionKey: "key:mum",
        task: "dig",
        childSessionKey: "key:kid",
      },
      ...{ requesterDisplayKey: "mum", cleanup: "keep", createdAt: 1, startedAt: 1, ...more },
    }) as SubagentRunRecord;
  const written: [string, string][] = [];
  const ports = (made: ReturnType<typeof world>, write?: () => Promise<string>) => ({
    store: made.store,
    clock: { now: () => NOW } as never,
    log: { warn: () => {} } as never,
    files: {
      write:
        write ??
        (async (name: string, text: string) => {
          written.push([name, text]);
          return `/f/${name}`;
        }),
    } as never,
    people: {
      personOf: async ({ id }: AgentRecord) => (id === "mum" ? "ann" : undefined),
      foregroundOf: async (person: string) => (person === "ann" ? made.record("other") : undefined),
      routeOf: ({ id }: AgentRecord) => (id === "other" ? { channel: "test", to: "other" } : undefined),
    } as never,
  });
  const family = (more: Record<string, Made> = {}): Record<string, Made> => ({
    mum: {},
    kid: { parent: "mum" },
    ...more,
  });
  const settings: ReportSettings = { archiveAfterMinutes: 60 };
  const end = async (
    result: Partial<RunResult>,
    of: SubagentRunRecord = record(),
    agents = family(),
    more: { settings?: ReportSettings; write?: () => Promise<string>; runs?: Partial<SubagentRunRecord>[] } = {},
  ) => {
    const made = world(agents, [of, ...(more.runs ?? [])]);
    const run = { id: "run" as RunId, startedAt: NOW - 90_000, body: { person: "p" } } as unknown as LiveRun;
    const given = { outcome: "ok", payloads: [{ text: "found it" }], meta: {}, ...result } as unknown as RunResult;
    const ops = await endOfRun(ports(made, more.write), more.settings ?? settings, made.record("kid"), run, given);
    const post = ops.find((op) => op.op === "message.post");
    const put = ops.find((op) => op.op === "subagent.put");
    return {
      ops: ops.map(({ op }) => op),
      post: post?.op === "message.post" ? post : undefined,
      body: post?.op === "message.post" && post.message.body.kind === "report" ? post.message.body : undefined,
      put: put?.op === "subagent.put" ? put : undefined,
    };
  };

  test("is one message to its requester and the ended record", async () => {
    const { ops, post, put, body } = await end(
      {},
      record({ behalf: { person: "ann" } as never, requesterOrigin: { channel: "c", to: "t" } }),
    );
    expect(ops).toEqual(["message.post", "subagent.put"]);
    expect(post).toMatchObject({
      to: { agentId: "mum" },
      message: { acceptedAt: NOW, behalf: { person: "ann" }, delivery: { channel: "c", to: "t" } },
    });
    expect(body).toMatchObject({ childId: "kid", childRunId: "run", person: "p" });
    expect(body?.silent).toBeUndefined();
    expect(body?.text).toContain("found it");
    expect(put).toMatchObject({
      expect: "open",
      record: {
        ...{
          endedAt: NOW,
          outcome: { status: "ok" },
          cleanupHandled: true,
          cleanupCompletedAt: NOW,
          reportedTo: "mum",
        },
        ...{ archiveAtMs: NOW + 60 * 60_000, startedAt: NOW - 90_000 },
      },
    });
  });

  test("is not made twice, nor for a run that no spawn waits for, nor for an agent that is no child", async () => {
    expect((await end({}, record({ endedAt: 5 }))).ops).toEqual([]);
    expect((await end({}, record({ runId: "other" }))).ops).toEqual([]);
    expect((await end({}, record(), { mum: {}, kid: {} })).ops).toEqual([]);
  });

  test.each<[string, Partial<RunResult>, object, string]>([
    [
      "time",
      { outcome: "timeout", meta: { error: { message: "too slow" } } as never },
      { status: "timeout", error: "too slow" },
      "it timed out",
    ],
    ["time without an error", { outcome: "timeout" }, { status: "timeout" }, "it timed out"],
    [
      "time with an empty error",
      { outcome: "timeout", meta: { error: { message: "" } } as never },
      { status: "timeout" },
      "it timed out",
    ],
    [
      "an empty error",
      { outcome: "error", meta: { error: { message: "" } } as never },
      { status: "error" },
      "its run failed",
    ],
    ["a loss", { outcome: "lost" }, { status: "unknown" }, "it was lost"],
    [
      "an error",
      { outcome: "error", meta: { error: { message: "boom" } } as never },
      { status: "error", error: "boom" },
      "its run failed",
    ],
    ["an abort", { outcome: "aborted" }, { status: "error", error: "it was aborted" }, "it was aborted"],
  ])("ended by %s says so", async (_title, result, outcome, reason) => {
    const { put, body } = await end({ payloads: [], ...result });
    expect(put?.record.outcome).toEqual({ error: undefined, ...outcome });
    expect(body?.text).toContain(reason);
  });

  test("ended by a stop says who stopped it", async () => {
    const stopped = { more: { stopped: { at: 1, reason: "enough" } } };
    const { put } = await end(
      { outcome: "aborted", payloads: [] },
      record(),
      family({ kid: { parent: "mum", ...stopped } }),
    );
    expect(put?.record.outcome).toEqual({ status: "error", error: "it was stopped: enough" });
  });

  test.each<[string, boolean]>([
    ["ANNOUNCE_SKIP", true],
    [" ANNOUNCE_SKIP\n", true],
    ["NO_REPLY", true],
    ["Really ANNOUNCE_SKIP it", false],
    ["found", false],
  ])("%j is silent: %s", async (text, silent) => {
    expect((await end({ payloads: [{ text }] })).body?.silent).toBe(silent || undefined);
  });

  test("of a failure names the child, also if the record does not", async () => {
    const { body } = await end({ outcome: "error", payloads: [] }, record({ childAgentId: undefined }));
    expect(body?.text).toContain("Subagent the kid (kid) failed");
    expect(body?.childId).toBe("kid");
  });

  test("of a failure is never silent", async () => {
    expect((await end({ outcome: "error", payloads: [{ text: "NO_REPLY" }] })).body?.silent).toBeUndefined();
  });

  test("keeps long findings in a file", async () => {
    const fits = await end({ payloads: [{ text: "x".repeat(8_000) }] });
    expect(fits.body?.text).toContain("x".repeat(8_000));
    expect(fits.body?.text).not.toContain("characters shown");
    const long = await end({ payloads: [{ text: "x".repeat(8_001) }] });
    expect(long.body?.text).toContain("(8000 of 8001 characters shown, all of it is in /f/report-run.txt)");
    expect(written.at(-1)).toEqual(["report-run.txt", "x".repeat(8_001)]);
    const full = await end({ payloads: [{ text: "x".repeat(8_001) }] }, record(), family(), {
      write: async () => Promise.reject(new Error("full")),
    });
    expect(full.body?.text).toContain("the rest could not be stored)");
  });

  test.each<[string, Partial<SubagentRunRecord>, number, number | undefined, number | undefined]>([
    ["kept for an hour", {}, 60, NOW + 3_600_000, NOW],
    ["kept for less than a minute", {}, 0.5, NOW + 60_000, NOW],
    ["kept for ever", {}, 0, undefined, NOW],
    ["kept for ever, with a time it had", { archiveAtMs: 7 }, 0, 7, NOW],
    ["deleted at once", { cleanup: "delete" }, 60, NOW, undefined],
  ])("a child is %s", async (_title, more, minutes, archiveAtMs, completed) => {
    const { put } = await end({}, record(more), family(), { settings: { archiveAfterMinutes: minutes } });
    expect([put?.record.archiveAtMs, put?.record.cleanupCompletedAt]).toEqual([archiveAtMs, completed]);
  });

  describe("goes", () => {
    const removed = { more: { stopped: { at: 1, reason: "x", removed: true } } };
    const stopped = { more: { stopped: { at: 1, reason: "x" } } };
    test.each<
      [string, Record<string, Made>, Partial<SubagentRunRecord>, Partial<SubagentRunRecord>[], object | undefined]
    >([
      ["to its requester", family(), {}, [], { agentId: "mum", delivery: { channel: "person", to: "key:mum" } }],
      ["to its requester by its key", family(), { requesterAgentId: undefined }, [], { agentId: "mum" }],
      [
        "to the nearest living above",
        family({ gran: {}, mum: { parent: "gran", ...removed } }),
        {},
        [],
        { agentId: "gran", delivery: { channel: "person", to: "key:gran" } },
      ],
      [
        "to its requester by its id, whatever its key is now",
        family({ other: {} }),
        { requesterSessionKey: "key:other" },
        [],
        { agentId: "mum" },
      ],
      [
        "to the nearest living above, which does not answer where the requester was asked",
        family({ gran: {}, mum: { parent: "gran", ...removed } }),
        { requesterOrigin: { channel: "c", to: "t" } },
        [],
        { agentId: "gran", delivery: { channel: "person", to: "key:gran" } },
      ],
      [
        "past a requester that has reported itself",
        family({ gran: {}, mum: { parent: "gran" } }),
        {},
        [{ runId: "m", requesterSessionKey: "key:gran", childAgentId: "mum", endedAt: 5 }],
        { agentId: "gran" },
      ],
      [
        "to a requester that has not",
        family({ gran: {}, mum: { parent: "gran" } }),
        {},
        [
          { runId: "m", requesterSessionKey: "key:gran", childAgentId: "mum", endedAt: 5 },
          { runId: "n", requesterSessionKey: "key:gran", childAgentId: "mum" },
        ],
        { agentId: "mum", delivery: undefined },
      ],
      ["to a stopped conversation, asleep", family({ mum: stopped }), {}, [], { agentId: "mum", silent: true }],
      [
        "to another conversation of its person",
        family({ mum: removed, other: {} }),
        {},
        [],
        { agentId: "other", delivery: { channel: "test", to: "other" } },
      ],
      [
        "to another that is stopped, asleep",
        family({ mum: removed, other: stopped }),
        {},
        [],
        { agentId: "other", silent: true },
      ],
      ["nowhere if no one is left", family({ mum: removed }), {}, [], undefined],
      ["nowhere if its requester is unknown", { kid: { parent: "mum" }, other: {} }, {}, [], undefined],
    ])("%s", async (_title, agents, more, runs, expected) => {
      const { post, put, body } = await end({}, record(more), agents, { runs });
      if (!expected) {
        expect(post).toBeUndefined();
        expect(put?.record).toMatchObject({
          reportDropped: expect.stringContaining("requester was removed"),
          endedAt: NOW,
        });
        return;
      }
      const { agentId, silent, ...rest } = expected as { agentId: string; silent?: true; delivery?: object };
      expect(post?.to).toEqual({ agentId });
      expect(body?.silent).toBe(silent);
      expect(put?.record.reportedTo).toBe(agentId);
      if ("delivery" in rest) expect(post?.message.delivery).toEqual(rest.delivery);
    });
  });

  test("of a child that never began says why, once per promised run", async () => {
    const made = world(family(), [record(), record({ runId: "done", endedAt: 5 })]);
    const messages = [{ asRun: "run" }, { asRun: "done" }, {}, { asRun: "none" }] as unknown as Message[];
    const ops = await endWithoutRun(ports(made), settings, made.record("kid"), messages, "dropped by olga");
    expect(ops.map(({ op }) => op)).toEqual(["message.post", "subagent.put"]);
    expect(JSON.stringify(ops)).toContain("it never began: dropped by olga");
    expect(ops[1]).toMatchObject({ record: { outcome: { status: "error", error: "dropped by olga" }, startedAt: 1 } });
    expect(await endWithoutRun(ports(made), settings, made.record("mum"), messages, "x")).toEqual([]);
  });
});

describe("archiving children", () => {
  const due = (n: number, more: object = {}) =>
    ({
      runId: `r${String(n).padStart(3, "0")}`,
      childAgentId: "kid",
      archiveAtMs: NOW - 1,
      endedAt: 1,
      cleanup: "keep",
      ...more,
    }) as Partial<SubagentRunRecord>;
  const swept = async (agents: Record<string, Made>, runs: Partial<SubagentRunRecord>[], minutes = 60) => {
    const made = world(agents, runs);
    const ports = {
      store: made.store,
      clock: { now: () => NOW },
      ids: { change: () => "c" },
      log: { warn: () => {} },
    } as never;
    const next = await sweepSubagentRuns(ports, { archiveAfterMinutes: minutes });
    return { next, ops: made.committed.flat() };
  };
  const kid = (more: object = {}) => ({ kid: { parent: "mum", more } });
  const rested = { state: { updatedAt: NOW - 60 * 60_000, stats: {} } };
  test.each<[string, Record<string, Made>, object, object[]]>([
    ["a child that is gone is forgotten", {}, {}, [{ op: "subagent.remove" }]],
    ["one that was removed is forgotten", kid({ stopped: { removed: true } }), {}, [{ op: "subagent.remove" }]],
    ["one that has rested long enough is forgotten", kid(rested), {}, [{ op: "subagent.remove" }]],
    [
      "one that has not waits until it has",
      kid({ state: { updatedAt: NOW - 60 * 60_000 + 1, stats: {} } }),
      {},
      [{ op: "subagent.put", expect: "ended", record: { archiveAtMs: NOW + 1 } }],
    ],
    [
      "one with work waits a minute",
      kid({ ...rested, waiting: 1 }),
      {},
      [{ op: "subagent.put", record: { archiveAtMs: NOW + 60_000 } }],
    ],
    [
      "one with a run waits a minute",
      kid({ ...rested, runId: "x" }),
      {},
      [{ op: "subagent.put", record: { archiveAtMs: NOW + 60_000 } }],
    ],
    [
      "one that is to be deleted is removed",
      kid(),
      { cleanup: "delete" },
      [{ op: "agent.remove", agentId: "kid" }, { op: "subagent.remove" }],
    ],
  ])("%s", async (_title, agents, more, ops) => {
    expect((await swept(agents, [due(1, more)])).ops).toMatchObject(ops);
  });
  test("one whose own child works waits a minute", async () => {
    const open = { runId: "open", requesterSessionKey: "key:kid" };
    expect((await swept(kid(rested), [due(1), open])).ops).toMatchObject([
      { op: "subagent.put", record: { archiveAtMs: NOW + 60_000 } },
    ]);
  });
  test("the next time is the next record's, at least a second away", async () => {
    expect((await swept(kid(rested), [])).next).toBeUndefined();
    expect((await swept(kid(rested), [due(1, { archiveAtMs: NOW + 5_000 })])).next).toBe(NOW + 5_000);
    expect((await swept(kid(rested), [due(1, { archiveAtMs: NOW + 500 })])).next).toBe(NOW + 1_000);
  });
});

describe("the settings of children", () => {
  const config = {
    subagents: {
      maxDepth: 3,
      maxChildren: 7,
      archiveAfterMinutes: 9,
      allowAgents: ["all"],
      model: { primary: "p/m" },
      thinking: "low",
    },
    profiles: { Work: { subagents: { allowAgents: ["main"], model: "w/m", thinking: "high" } }, home: {} },
    session: { mainKey: "mine" },
  };
  const settings = subagentSettings(config as never);
  test("are those of the profile, else of all", () => {
    expect([settings.maxDepth, settings.maxChildren, settings.archiveAfterMinutes, settings.mainKey]).toEqual([
      3,
      7,
      9,
      "mine",
    ]);
    expect([settings.allowAgents("work"), settings.allowAgents("home")]).toEqual([["main"], ["all"]]);
    expect([settings.model("WORK"), settings.model("home")]).toEqual(["w/m", "p/m"]);
    expect([settings.thinking("work"), settings.thinking("gone")]).toEqual(["high", "low"]);
    expect([settings.profileNamed("work"), settings.profileNamed("main"), settings.profileNamed("gone")]).toEqual([
      "Work",
      "main",
      undefined,
    ]);
    expect(settings.profileNames?.()).toEqual(["main", "Work", "home"]);
    expect(subagentSettings(config as never, { maxDepth: 1 }).maxDepth).toBe(1);
    expect(subagentSettings({ ...config, subagents: {} } as never).model("home")).toBeUndefined();
  });
});
