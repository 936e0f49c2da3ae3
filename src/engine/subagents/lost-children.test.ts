/** Children whose run brings no more result, archiving in portions, and a history as text: on a store made of records. */

import { describe, expect, it } from "vitest";
import { virtualClock } from "../../../test/kit/clock.ts";
import { seededIds } from "../../../test/kit/ids.ts";
import { type LogLine, recordingLog } from "../../../test/kit/log.ts";
import { testSettings } from "../../../test/kit/settings.ts";
import type { SubagentRunRecord } from "../../core/agent/subagent-run.ts";
import type { AgentId } from "../../core/ids.ts";
import type { Change } from "../../core/store/change.ts";
import { RunEvents } from "../runtime/run-events.ts";
import { historyLog, logOf } from "./history-log.ts";
import { LiveTree, type TreeChange } from "./live-tree.ts";
import { initSubagentRegistry, listSubagentRunsForRequester, reportGivenUp } from "./registry.ts";

const turn = (): Promise<void> => new Promise((done) => setImmediate(done));
const record = (runId: string, more: Partial<SubagentRunRecord> = {}): SubagentRunRecord =>
  ({
    ...{ runId, childAgentId: `child of ${runId}`, childSessionKey: `key of ${runId}`, task: "dig", cleanup: "keep" },
    ...{ requesterAgentId: "mum", requesterSessionKey: "key:mum", createdAt: 1, ...more },
  }) as SubagentRunRecord;

interface World {
  readonly records: SubagentRunRecord[];
  /** By run. */
  readonly runs?: Record<string, { readonly state: string }>;
  /** By agent. */
  readonly agents?: Record<string, object>;
  readonly refuses?: boolean;
}

function world({ records, runs = {}, agents = {}, refuses = false }: World) {
  const clock = virtualClock();
  const commits: Change[] = [];
  const limits: unknown[] = [];
  const lines: LogLine[] = [];
  const mum = { id: "mum", sessionKey: "key:mum", descriptor: { type: "user" }, waiting: 0 };
  const store = {
    subagentRuns: async ({ open, dueBy, limit }: { open?: true; dueBy?: number; limit?: number }) => {
      if (dueBy !== undefined) limits.push(limit);
      return records
        .filter(({ endedAt }) => !open || endedAt === undefined)
        .filter(({ archiveAtMs }) => dueBy === undefined || (archiveAtMs !== undefined && archiveAtMs <= dueBy))
        .slice(0, limit);
    },
    subagentRun: async (id: string) => records.find(({ runId }) => runId === id),
    openSubagentRuns: async () => 0,
    run: async (id: string) => runs[id],
    agent: async (id: string) => (id === "mum" ? mum : agents[id]),
    agentByKey: async () => mum,
    commit: async (change: Change) => {
      commits.push(change);
      if (refuses) return { ok: false, refused: "conflict", detail: "" };
      for (const op of change.ops) {
        if (op.op === "subagent.remove") {
          records.splice(
            records.findIndex(({ runId }) => runId === op.runId),
            1,
          );
        }
      }
      return { ok: true, results: [{ op: "message.post", agentId: "mum", seq: 1 }] };
    },
  };
  const people = { personOf: async () => "ann", foregroundOf: async () => undefined, routeOf: () => undefined };
  const ports = {
    settings: testSettings(),
    clock,
    store,
    people,
    ids: seededIds("lost"),
    log: recordingLog(lines),
    files: {},
  };
  const emitted: unknown[] = [];
  const committed: unknown[] = [];
  const host = {
    emit: (event: unknown) => emitted.push(event),
    shared: false,
    committed: (ops: unknown) => committed.push(ops),
  };
  const reported = (): readonly unknown[] =>
    commits
      .filter(({ site }) => site === "subagent.lost")
      .flatMap(({ ops }) => ops)
      .flatMap((op) => (op.op === "subagent.put" ? [op.record.runId] : []));
  return { ports: ports as never, host: host as never, clock, commits, emitted, committed, reported, limits, lines };
}
const resting = { id: "c", waiting: 0 };

describe("at the start", () => {
  it.each<[string, object | undefined, object | undefined, boolean]>([
    ["whose run has ended", { state: "ended" }, resting, true],
    ["whose run is active", { state: "active" }, undefined, false],
    ["whose message is gone", undefined, resting, true],
    ["whose message waits", undefined, { ...resting, waiting: 1 }, false],
    ["that works on another message", undefined, { ...resting, runId: "x" }, false],
    ["that is gone", undefined, undefined, true],
    ["that was removed with its work", undefined, { ...resting, waiting: 1, stopped: { removed: true } }, true],
    ["that was stopped and has work", undefined, { ...resting, waiting: 1, stopped: { reason: "x" } }, false],
  ])("a child %s is reported as lost: %s", async (_, run, child, isLost) => {
    const { ports, host, reported, emitted, committed } = world({
      records: [record("r1")],
      runs: run ? { r1: run as never } : {},
      agents: child ? { "child of r1": child } : {},
    });
    initSubagentRegistry(ports, host).stop();
    await turn();
    expect(reported()).toEqual(isLost ? ["r1"] : []);
    expect([emitted.length, committed.length]).toEqual(isLost ? [1, 1] : [0, 0]);
  });

  it("a child of an unknown agent is reported, and one that has ended is not", async () => {
    const { ports, host, reported } = world({
      records: [record("r1", { childAgentId: undefined }), record("r2", { endedAt: 5 })],
    });
    initSubagentRegistry(ports, host).stop();
    await turn();
    expect(reported()).toEqual(["r1"]);
  });

  it("a report that the store refuses, because the child was quicker, wakes no one", async () => {
    const { ports, host, emitted, committed } = world({ records: [record("r1")], refuses: true });
    initSubagentRegistry(ports, host).stop();
    await turn();
    expect([emitted, committed]).toEqual([[], []]);
  });
});

describe("a child that cannot be restored", () => {
  it("is reported with the reason, and no other child is", async () => {
    const { ports, host, reported, commits } = world({
      records: [record("r1"), record("r2"), record("r3", { childAgentId: "child of r2", endedAt: 5 })],
    });
    await reportGivenUp(ports, { agentId: "child of r2" as AgentId, reason: "its file is broken" }, host);
    expect(reported()).toEqual(["r2"]);
    const [post] = commits[0]?.ops ?? [];
    const body = post?.op === "message.post" && post.message.body.kind === "report" ? post.message.body : undefined;
    expect(body).toMatchObject({ childId: "child of r2", childRunId: "r2" });
    expect(body?.text).toContain(
      "Subagent subagent (child of r2) failed: its agent cannot be restored (its file is broken).",
    );
    expect(commits[0]?.ops[1]).toMatchObject({
      record: { outcome: { status: "error", error: "its file is broken" }, reportedTo: "mum" },
    });
  });
});

describe("archiving", () => {
  const due = (count: number): SubagentRunRecord[] =>
    Array.from({ length: count }, (_, n) => record(`r${n}`, { archiveAtMs: 1, endedAt: 1 }));

  it.each([
    [99, [100, 1]],
    [100, [100, 100, 1]],
    [201, [100, 100, 100, 1]],
  ])("of %i children reads a hundred at a time", async (count, expected) => {
    const { ports, host, limits, commits, clock } = world({ records: due(count) });
    initSubagentRegistry(ports, host);
    await turn();
    expect([limits, commits.length, clock.timers]).toEqual([expected, count, 0]);
  });

  it("ends when the store refuses all of a portion, and is due again in a second", async () => {
    const { ports, host, clock, limits } = world({ records: due(100), refuses: true });
    const sweep = initSubagentRegistry(ports, host);
    await clock.advance(999, turn);
    expect(limits).toEqual([100, 1]);
    await clock.advance(1, turn);
    expect(limits).toEqual([100, 1, 100, 1]);
    sweep.stop();
  });

  it("that fails is tried again after a minute", async () => {
    const { ports, host, clock, lines, limits } = world({ records: [] });
    const { store } = ports as { store: { subagentRuns: (asked: object) => Promise<unknown> } };
    const read = store.subagentRuns;
    let fails = true;
    store.subagentRuns = (asked: { dueBy?: number }) =>
      fails && asked.dueBy !== undefined ? Promise.reject(new Error("no store")) : read(asked);
    const sweep = initSubagentRegistry(ports, host);
    await turn();
    fails = false;
    expect(lines.map(({ message }) => message)).toEqual(["children could not be archived; tried again later"]);
    await clock.advance(59_999, turn);
    expect(limits).toEqual([]);
    await clock.advance(1, turn);
    expect(limits).toEqual([100, 1]);
    sweep.stop();
  });
});

it("children made at the same moment are listed by their run", async () => {
  const all = ["b", "c", "a"].map((runId) => record(runId));
  const found = await listSubagentRunsForRequester({ subagentRuns: async () => all } as never, "key:mum");
  expect(found.map(({ runId }) => runId)).toEqual(["a", "b", "c"]);
});

describe("a history as text", () => {
  const said = (role: string, ...content: object[]) => ({ role, content });
  it.each<[object | undefined, string]>([
    [said("user", { type: "text", text: " hi " }), "user: hi"],
    [said("assistant", { type: "text", text: "a" }, { type: "text", text: "b" }), "assistant: a b"],
    [
      said("assistant", { type: "toolCall", name: "read" }, { type: "toolCall" }),
      "assistant: [calls read] [calls a tool]",
    ],
    [said("assistant", { type: "thinking" }, { type: "text", text: "x" }), "assistant: x"],
    [{ role: "tool", toolName: "read", content: [{ type: "text", text: "ok" }] }, "tool read: ok"],
    [{ role: "tool" }, "tool: "],
    [said("user", { type: "text", text: "x".repeat(501) }), `user: ${"x".repeat(499)}…`],
    [said("user", { type: "text", text: "x".repeat(500) }), `user: ${"x".repeat(500)}`],
    [{ type: "compaction" }, "Nothing was said yet."],
    [undefined, "Nothing was said yet."],
  ])("%j", (entry, text) => {
    expect(logOf([entry])).toBe(text);
  });

  it("is the oldest first, without lines that cannot be read, of as many as were asked for", async () => {
    const asked: unknown[] = [];
    const lines = ['{"role":"user","content":[{"type":"text","text":"two"}]}', "{", '{"role":"tool"}'];
    const linesBack = async (_: AgentId, options: object) => {
      asked.push(options);
      return lines.map((line) => ({ line }));
    };
    expect(await historyLog({ linesBack } as never, "a" as AgentId, 7)).toBe("tool: \nuser: two");
    expect(asked).toEqual([{ limit: 7 }]);
  });
});

describe("listeners of the tree", () => {
  it("hear of runs again after all of them had left", async () => {
    const clock = virtualClock();
    const events = new RunEvents({} as never);
    const tree = new LiveTree({ store: {} as never, clock, log: {} as never }, events);
    tree.onChange(() => {})();
    const heard: unknown[] = [];
    tree.onChange((change) => heard.push(change));
    events.emit({ agentId: "a", runId: "r", step: 1, attempt: 1 } as never, { type: "start" });
    await clock.advance(100);
    expect(heard).toEqual([{ agents: ["a"], all: false }]);
  });

  it("that stay go on hearing when another one leaves", async () => {
    const clock = virtualClock();
    const tree = new LiveTree({ store: {} as never, clock, log: {} as never }, new RunEvents({} as never));
    const heard: string[] = [];
    const listen = (name: string) => tree.onChange(({ agents }: TreeChange) => heard.push(`${name} ${agents}`));
    const [first] = [listen("first"), listen("second")];
    tree.changed("a" as AgentId);
    first();
    await clock.advance(100);
    tree.changed("b" as AgentId);
    await clock.advance(100);
    expect(heard).toEqual(["second a", "second b"]);
  });

  it.each([
    [500, false],
    [501, true],
  ])("%i agents are too many to name: %s", async (count, all) => {
    const clock = virtualClock();
    const tree = new LiveTree({ store: {} as never, clock, log: {} as never }, new RunEvents({} as never));
    const heard: TreeChange[] = [];
    tree.onChange((change) => heard.push(change));
    for (let n = 0; n < count; n++) tree.changed(`a${n}` as AgentId);
    await clock.advance(100);
    expect(heard.map((change) => [change.agents.length, change.all])).toEqual([[all ? 0 : count, all]]);
  });
});
