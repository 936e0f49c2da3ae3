/** The sweep of questions whose time is over: in portions, without turning round what cannot be ended. */
import { expect, test } from "vitest";
import { START, virtualClock } from "../../../test/kit/clock.ts";
import { seededIds } from "../../../test/kit/ids.ts";
import { recordingLog } from "../../../test/kit/log.ts";
import type { Approval } from "../../core/rights/approval.ts";
import type { Change, CommitResult, Op } from "../../core/store/change.ts";
import { startExpirySweep } from "./expire-approvals.ts";

const PORTION = 100;

/** Rows that are due now. `commit` says what becomes of the change of a row. */
function world(
  count: number,
  commit: (id: string, ops: readonly Op[]) => CommitResult["ok"] | "missing",
  later?: number,
) {
  const clock = virtualClock();
  const now = clock.now();
  const row = (n: number, more: object = {}) =>
    ({
      id: `q${n}`,
      agentId: "a",
      runId: "r",
      callId: "c",
      digest: "d",
      tool: "exec",
      behalf: { person: "ann" },
      ...more,
    }) as never as Approval;
  let due: Approval[] = Array.from({ length: count }, (_, n) =>
    row(n, { state: n === 1 ? "approved" : "pending", dueAt: now }),
  );
  const commits: Change[] = [];
  const reads: number[] = [];
  const store = {
    approvalsDue: async ({ by, limit }: { by?: number; limit: number }) => {
      if (reads.push(limit) > 20) throw new TypeError("the sweep does not end");
      if (by !== undefined) return due.slice(0, limit);
      return [...due, ...(later === undefined ? [] : [row(999, { dueAt: later })])].slice(0, limit);
    },
    commit: async (change: Change): Promise<CommitResult> => {
      commits.push(change);
      const [end] = change.ops;
      const id = end?.op === "approval.decide" ? end.id : "";
      const done = commit(id, change.ops);
      if (done !== true) return { ok: false, refused: done === "missing" ? "missing" : "conflict", detail: "no" };
      due = due.filter((one) => one.id !== id);
      return { ok: true, results: [] };
    },
  };
  const ports = { ids: seededIds("expire"), clock, log: recordingLog([]) };
  const start = (more: object = {}) =>
    startExpirySweep(
      { ...ports, store: { ...store, ...more } as never },
      { emit: () => {}, shared: false, claimFor: () => undefined },
    );
  const advance = (ms: number) =>
    clock.advance(ms, async () => {
      await new Promise<void>((resolve) => setImmediate(resolve));
    });
  const run = async () => {
    start();
    await advance(0);
  };
  return { run, start, advance, commits, now, reads, store, clock, left: () => due.length };
}
const kinds = (commits: readonly Change[]) => commits.map(({ ops }) => ops.map(({ op }) => op).join(" "));

test("all portions are ended, and without a later row there is nothing to wait for", async () => {
  const { run, commits, left, now, clock } = world(2 * PORTION + 1, () => true);
  await run();
  expect(clock.timers).toBe(0);
  expect([commits.length, left()]).toEqual([2 * PORTION + 1, 0]);
  // A yes that was not used ends without a message.
  expect(kinds(commits).slice(0, 2)).toEqual(["approval.decide audit.add message.post", "approval.decide"]);
  expect(JSON.stringify(commits[0])).toContain("was not answered in time.");
  const by = { by: "system", surface: "system", to: "expired", agentId: "a", digest: "d" };
  expect(commits.slice(0, 2).map(({ ops }) => ops[0])).toEqual([
    { op: "approval.decide", id: "q0", from: "pending", reason: "no one answered in time", ...by },
    { op: "approval.decide", id: "q1", from: "approved", reason: "the yes was not used in time", ...by },
  ]);
  expect(commits[0]?.ops[1]).toMatchObject({
    entry: { at: now, person: "ann", surface: "system", decision: "deny", reason: "no one answered in time" },
  });
  expect(commits[0]?.ops[2]).toMatchObject({
    message: { acceptedAt: now, body: { approved: false, by: "system" } },
  });
});

test("a full portion of which none can be ended is tried once, and again later", async () => {
  const { run, commits, advance } = world(PORTION, () => false);
  await run();
  await advance(999);
  expect(commits).toHaveLength(PORTION);
  await advance(1);
  expect(commits).toHaveLength(2 * PORTION);
});

test("a full portion of which one could be ended is followed by another look", async () => {
  const { run, commits, left } = world(PORTION, (id) => id === "q5");
  await run();
  expect([commits.length, left()]).toEqual([2 * PORTION - 1, PORTION - 1]);
});

test("the question of an agent that was removed ends without a message", async () => {
  const { run, commits, left, reads } = world(1, (_id, ops) =>
    ops.some(({ op }) => op === "message.post") ? "missing" : true,
  );
  await run();
  expect(left()).toBe(0);
  expect(kinds(commits)).toEqual(["approval.decide audit.add message.post", "approval.decide audit.add"]);
  expect(reads).toEqual([PORTION, 1]);
});

test("the next look is at the next due time", async () => {
  const { run, advance, reads } = world(0, () => true, START + 60_000);
  await run();
  await advance(59_999);
  expect(reads).toEqual([PORTION, 1]);
  await advance(1);
  expect(reads.slice(2, 4)).toEqual([PORTION, 1]);
});

test("a sweep that fails is tried again after ten seconds", async () => {
  const { start, store, advance, commits } = world(1, () => true);
  let failures = 0;
  const approvalsDue = async (page: { by?: number; limit: number }): Promise<unknown> => {
    if (failures++ === 0) throw new TypeError("no");
    return store.approvalsDue(page);
  };
  const sweep = start({ approvalsDue });
  await advance(9_999);
  expect(commits).toEqual([]);
  await advance(1);
  expect(commits).toHaveLength(1);
  sweep.stop();
});
