import { describe, expect, it, test } from "vitest";
import { virtualClock } from "../../../../test/kit/clock.ts";
import { seededIds } from "../../../../test/kit/ids.ts";
import type { AgentState } from "../../../core/agent/state.ts";
import type { AgentLease } from "../../runtime/agent-lease.ts";
import type { LiveRun } from "../../runtime/live-run.ts";
import { appendCompaction } from "./append-compaction.ts";
import { notMade } from "./compact-session.ts";

const usage = { input: 10, output: 5, cacheRead: 0, cacheWrite: 0, totalTokens: 15 };

/** What one compaction of this kind commits. */
async function committed(state: Partial<AgentState>, details: object, run?: LiveRun) {
  const commits: Parameters<AgentLease["commit"]>[0][] = [];
  const lease = {
    ...{ nextPos: 3, leaf: "leaf", state },
    commit: async (change: (typeof commits)[number]) => {
      commits.push(change);
    },
  } as unknown as AgentLease;
  const entry = { type: "compaction", summary: "s", firstKeptEntryId: "e", tokensBefore: 9, details, timestamp: 1 };
  const ports = { ids: seededIds("append"), clock: virtualClock() };
  await appendCompaction(ports, lease, { before: 9, after: 3, entry } as never, run);
  const [change] = commits;
  expect(commits).toHaveLength(1);
  return { change, entry: change?.append?.entries[0], state: change?.state, now: ports.clock.now() };
}

describe("a compaction is one commit", () => {
  test.each([
    [{}, undefined],
    [{ untrusted: true }, { from: "context" }],
    [{ madeUntrusted: true }, { from: "context" }],
  ])("of an agent with the state %j its summary has the mark %j (M32)", async (state, untrusted) => {
    const { entry } = await committed(state as Partial<AgentState>, { kind: "summary" });
    expect(entry).toMatchObject({ type: "compaction", summary: "s" });
    expect(entry?.untrusted).toEqual(untrusted);
  });

  test.each([
    ["summary", 4, 5],
    ["prune", 4, 5],
    ["truncate", 4, 4],
    ["images", 4, 4],
    ["summary", undefined, 1],
    ["images", undefined, 0],
  ])("that ends a cycle or not: %s, from %s to %d", async (kind, compactionCount, after) => {
    const { state, now } = await committed({ compactionCount }, { kind });
    expect(state).toMatchObject({ compactionCount: after, updatedAt: now });
  });

  it("that counts what a summary has cost, and nothing for a measure that carries the earlier details", async () => {
    const details = { provider: "p", model: "m", usage };
    const size = { input: 10, output: 5, cacheRead: 0, cacheWrite: 0, total: 15 };
    const { state } = await committed({ stats: {} }, { kind: "summary", ...details });
    expect(state?.stats).toEqual({ p: { m: size } });
    const unnamed = await committed({ stats: {} }, { kind: "summary", usage });
    expect(unnamed.state?.stats).toEqual({ "": { "": size } });
    const cut = await committed({ stats: {} }, { kind: "truncate", ...details });
    expect(cut.state?.stats).toEqual({});
  });

  it("at rest without a run, and within a run with its step", async () => {
    const rest = await committed({}, { kind: "summary" });
    expect(rest.change).toMatchObject({ site: "compact.rest", ops: [] });
    expect(rest.change?.run).toBeUndefined();
    const stepped: unknown[] = [];
    const body = { seqs: [1] };
    const run = {
      ...{ id: "r1", body, guard: () => ({ id: "r1", step: 4 }) },
      stepped: (next: unknown) => stepped.push(next),
    } as unknown as LiveRun;
    const within = await committed({}, { kind: "summary" }, run);
    expect(within.change).toMatchObject({
      site: "compact",
      ops: [{ op: "run.step", runId: "r1", body }],
      run: { id: "r1", step: 4 },
    });
    expect(stepped).toEqual([body]);
  });
});

test.each([
  [undefined, "the run ended unseen"],
  [{ outcome: "aborted", meta: {} }, "the run ended aborted"],
  [{ outcome: "error", meta: { error: { message: "auth error" } } }, "auth error"],
])("a request for a compaction whose run ended with %j says: %s", (result, reason) => {
  expect(notMade(result as never)).toEqual({ ok: false, compacted: false, reason });
});
