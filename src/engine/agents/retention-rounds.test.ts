/** The rounds of pruning: their portions, pauses and times, over a store that records. No engine. */
import { describe, expect, it, test } from "vitest";
import { virtualClock } from "../../../test/kit/clock.ts";
import { seededIds } from "../../../test/kit/ids.ts";
import { type LogLine, recordingLog } from "../../../test/kit/log.ts";
import type { Change } from "../../core/store/change.ts";
import { QUESTION_MS } from "../people/open-question.ts";
import { agesOf, pruneRound, startRetention } from "./retention.ts";

const HOUR = 3600_000;
const LIMITS = { messagesMs: 1, deliveriesMs: 2, runsMs: 3, changesMs: 4, auditMs: 5 };
const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 4; turn++) await new Promise((resolve) => setImmediate(resolve));
};

/** `rows`: how many each table has to prune, in portions of 200. */
function world(rows: Record<string, number> = {}, refused?: string) {
  const clock = virtualClock();
  const log: LogLine[] = [];
  const pruned: { what: string; before: number; limit: number; after?: string }[] = [];
  const other: Change[] = [];
  /** All commits, or those of one site. */
  const state: { fails: boolean | string } = { fails: false };
  const store = {
    commit: async ({ ops, ...change }: Change) => {
      if (state.fails === true || state.fails === change.site) throw new TypeError("away");
      const [op] = ops;
      if (op?.op !== "prune") {
        other.push({ ...change, ops });
        return { ok: true, results: [] };
      }
      const { what, before, limit, after } = op;
      pruned.push({ what, before, limit, after });
      if (what === refused) return { ok: false, refused: "conflict", detail: "no" };
      const done = Number(after ?? 0);
      const removed = Math.min(200, (rows[what] ?? 0) - done);
      const next = done + removed < (rows[what] ?? 0) ? String(done + removed) : undefined;
      return { ok: true, results: [{ op: "prune", removed, next }] };
    },
    outcome: async () => undefined,
  };
  const ports = { store, clock, ids: seededIds("retention"), log: recordingLog(log) } as never;
  return { ports, clock, log, pruned, other, state };
}

test("rows of each table may become as old as its limit says", () => {
  expect(Object.fromEntries(agesOf(LIMITS))).toEqual({
    ...{ messages: 1, deliveries: 2, runs: 3, changes: 4, audit: 5, slots: 3, approvals: 3 },
    ...{ questions: QUESTION_MS, dedupe: 0, requests: 0 },
  });
});

describe("a round", () => {
  it("prunes each table in portions, with a pause after each, and says how much", async () => {
    const { ports, pruned, clock } = world({ messages: 450, audit: 200 });
    let pauses = 0;
    const removed = await pruneRound(ports, LIMITS, async () => {
      pauses += 1;
    });
    expect(removed).toEqual({
      ...{ messages: 450, deliveries: 0, runs: 0, changes: 0, slots: 0, dedupe: 0, requests: 0 },
      ...{ audit: 200, approvals: 0, questions: 0 },
    });
    const before = clock.now() - 1;
    expect(pruned.slice(0, 4)).toEqual([
      { what: "messages", before, limit: 200, after: undefined },
      { what: "messages", before, limit: 200, after: "200" },
      { what: "messages", before, limit: 200, after: "400" },
      { what: "deliveries", before: clock.now() - 2, limit: 200, after: undefined },
    ]);
    expect([pruned.length, pauses]).toEqual([12, 12]);
  });

  it("goes on with the next table if one is refused", async () => {
    const { ports, pruned } = world({ runs: 900 }, "runs");
    const removed = await pruneRound(ports, LIMITS, async () => {});
    expect([removed.runs, pruned.length]).toEqual([0, 10]);
  });

  it("ends with the reservations that no run can use any more", async () => {
    const { ports, other, clock } = world();
    await pruneRound(ports, LIMITS, async () => {});
    expect(other.map(({ site, ops }) => [site, ops])).toEqual([
      ["budget.sweep", [{ op: "budget.sweep", reservedBefore: clock.now() - 24 * HOUR, rowsBefore: clock.now() - 3 }]],
    ]);
  });
});

describe("the rounds", () => {
  it("are an hour apart, with pauses of 50 ms, and files are swept after the rows", async () => {
    const { ports, clock, pruned } = world();
    const sweeps: number[] = [];
    const sweep = async (pause: () => Promise<void>) => {
      sweeps.push(clock.monotonic());
      await pause();
    };
    startRetention(ports, () => LIMITS, { sweep } as never);
    await clock.advance(HOUR - 1, settle);
    expect(pruned).toEqual([]);
    await clock.advance(1, settle);
    expect(pruned).toHaveLength(1);
    await clock.advance(50, settle);
    expect(pruned).toHaveLength(2);
    await clock.advance(10 * 50, settle);
    expect([pruned.length, sweeps]).toEqual([10, [HOUR + 500]]);
    await clock.advance(HOUR - 51, settle);
    expect(pruned).toHaveLength(10);
    await clock.advance(51, settle);
    expect(pruned).toHaveLength(11);
  });

  it("read the limits each time, and go on after an error, which is logged", async () => {
    const { ports, clock, pruned, log, state } = world();
    let messagesMs = 1;
    startRetention(ports, () => ({ ...LIMITS, messagesMs: messagesMs++ }));
    state.fails = true;
    await clock.advance(HOUR, settle);
    expect(log.map(({ message }) => message)).toEqual(["pruning failed and will be tried again"]);
    state.fails = false;
    await clock.advance(HOUR, settle);
    expect(pruned[0]?.before).toBe(clock.now() - 2);
  });

  test.each<[string, string | false, number, number]>([
    ["all of it is done", false, 0, 1],
    ["rows cannot be removed", "prune", 1, 0],
    ["budgets cannot be swept", "budget.sweep", 1, 0],
  ])("say what failed, and sweep files only after a whole round: %s", async (_title, fails, warnings, swept) => {
    const { ports, clock, log, state } = world();
    state.fails = fails;
    let sweeps = 0;
    const sweep = async () => {
      sweeps += 1;
    };
    startRetention(ports, () => LIMITS, { sweep } as never);
    await clock.advance(HOUR + 10 * 50, settle);
    expect([log.length, sweeps]).toEqual([warnings, swept]);
  });

  it("can be stopped, while they wait and in between", async () => {
    const first = world();
    const stop = startRetention(first.ports, () => LIMITS);
    stop();
    expect(first.clock.timers).toBe(0);
    await first.clock.advance(2 * HOUR, settle);
    expect(first.pruned).toEqual([]);
    const second = world();
    const end = startRetention(second.ports, () => LIMITS);
    await second.clock.advance(HOUR, settle);
    end();
    await second.clock.advance(5 * HOUR, settle);
    expect([second.pruned.length, second.clock.timers]).toEqual([1, 0]);
  });
});
