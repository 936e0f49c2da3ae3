/** Records beside agents: cron jobs, subagent runs and facts. */
import { expect } from "vitest";
import type { SubagentRunRecord } from "../../src/core/agent/subagent-run.ts";
import type { CronJob } from "../../src/core/schedule/job.ts";
import type { Op } from "../../src/core/store/change.ts";
import { type Opener, START, storeTest } from "./fixture.ts";

const job = (id: string, rest: Partial<CronJob> = {}): CronJob => ({
  id,
  name: `job ${id}`,
  enabled: true,
  createdAtMs: START,
  updatedAtMs: START,
  schedule: { kind: "every", everyMs: 60_000 },
  sessionTarget: "isolated",
  wakeMode: "now",
  payload: { kind: "agentTurn", message: "work" },
  state: { nextRunAtMs: START + 60_000 },
  ...rest,
});
const spawned = (runId: string, requesterSessionKey: string): SubagentRunRecord => ({
  runId,
  childSessionKey: `child of ${runId}`,
  requesterSessionKey,
  requesterDisplayKey: "main",
  task: "look",
  cleanup: "keep",
  createdAt: START,
});

export function recordsContract(open: Opener): void {
  storeTest("a job is put, replaced, kept with unknown fields, and removed", open, async (world) => {
    await world.done([
      { op: "job.put", job: job("b") },
      { op: "job.put", job: job("a") },
    ]);
    const changed = job("b", { enabled: false, name: "changed", fromTheFuture: 1 });
    await world.done([{ op: "job.put", job: changed }]);
    expect(await world.store.job("b")).toEqual({ ...changed, version: 2 });
    expect((await world.store.jobs()).map((one) => one.id)).toEqual(["a", "b"]);
    await world.done([
      { op: "job.remove", id: "a" },
      { op: "job.remove", id: "never there" },
    ]);
    expect(await world.store.job("a")).toBeUndefined();
    expect(await world.store.jobs()).toHaveLength(1);
  });

  storeTest("a subagent run is put, replaced, found by its requester, and removed", open, async (world) => {
    for (const [runId, requester] of [
      ["1", "x"],
      ["2", "y"],
      ["3", "x"],
    ] as const) {
      await world.done([{ op: "subagent.put", record: spawned(runId, requester) }]);
    }
    const ended = { ...spawned("1", "x"), endedAt: START + 5, outcome: { status: "ok" as const } };
    await world.done([{ op: "subagent.put", record: ended }]);
    expect(await world.store.subagentRun("1")).toEqual(ended);
    expect((await world.store.subagentRuns()).map((one) => one.runId)).toEqual(["1", "2", "3"]);
    const ofX = await world.store.subagentRuns({ requesterSessionKey: "x" });
    expect(ofX.map((one) => one.runId)).toEqual(["1", "3"]);
    await world.done([{ op: "subagent.remove", runId: "1" }]);
    expect(await world.store.subagentRun("1")).toBeUndefined();
  });

  storeTest("a subagent run ends once, and a second end is refused", open, async (world) => {
    const put = (record: SubagentRunRecord, expected?: "open" | "ended"): Op => ({
      op: "subagent.put",
      record,
      expect: expected,
    });
    const fresh = spawned("1", "x");
    const ended = { ...fresh, endedAt: START + 5 };
    expect(await world.refused([put(fresh, "open")])).toBe("conflict");
    await world.done([put(fresh)]);
    expect(await world.refused([put(ended, "ended")])).toBe("conflict");
    await world.done([put(ended, "open")]);
    expect(await world.refused([put({ ...ended, task: "other" }, "open")])).toBe("conflict");
    await world.done([put({ ...ended, archiveAtMs: 9 }, "ended")]);
    expect(await world.store.subagentRun("1")).toEqual({ ...ended, archiveAtMs: 9 });
  });

  storeTest("subagent runs are counted while they are open and listed when they are due", open, async (world) => {
    const at = (runId: string, archiveAtMs?: number) => ({
      ...spawned(runId, "x"),
      endedAt: archiveAtMs === undefined ? undefined : START,
      archiveAtMs,
    });
    for (const record of [at("1"), at("2", 30), at("3", 10), at("4", 20), at("5")]) {
      await world.done([{ op: "subagent.put", record }]);
    }
    expect(await world.store.openSubagentRuns("x")).toBe(2);
    expect(await world.store.openSubagentRuns("y")).toBe(0);
    expect((await world.store.subagentRuns({ open: true })).map(({ runId }) => runId)).toEqual(["1", "5"]);
    expect((await world.store.subagentRuns({ dueBy: 20, limit: 9 })).map(({ runId }) => runId)).toEqual(["3", "4"]);
    expect((await world.store.subagentRuns({ dueBy: 99, limit: 1 })).map(({ runId }) => runId)).toEqual(["3"]);
  });

  storeTest("a fact is put, replaced and removed", open, async (world) => {
    expect(await world.store.fact("offset")).toBeUndefined();
    await world.done([{ op: "fact.put", key: "offset", value: "1" }]);
    await world.done([{ op: "fact.put", key: "offset", value: "2" }]);
    expect(await world.store.fact("offset")).toBe("2");
    await world.done([{ op: "fact.put", key: "offset", value: null }]);
    expect(await world.store.fact("offset")).toBeUndefined();
  });

  storeTest("a change that expects an outdated value of a fact is refused completely", open, async (world) => {
    const put = (value: string | null, expect?: string | null): Op => ({
      op: "fact.put",
      key: "shared",
      value,
      expect,
    });
    expect(await world.refused([{ op: "fact.put", key: "beside", value: "1" }, put("1", "0")])).toBe("conflict");
    expect(await world.store.fact("beside")).toBeUndefined();
    await world.done([put("1", null)]);
    expect(await world.refused([put("2", null)])).toBe("conflict");
    await world.done([put("2", "1")]);
    expect(await world.refused([put(null, "1")])).toBe("conflict");
    await world.done([put(null, "2")]);
    expect(await world.store.fact("shared")).toBeUndefined();
    // The ops of one change apply in order.
    await world.done([put("1"), put("2", "1"), put(null, "2")]);
    // Of many concurrent changes to one fact, every accepted one takes effect.
    const add = async (): Promise<void> => {
      for (;;) {
        const known = await world.store.fact("shared");
        const change = world.change([put(String(Number(known ?? 0) + 1), known ?? null)]);
        if ((await world.store.commit(change)).ok) return;
      }
    };
    await Promise.all(Array.from({ length: 8 }, add));
    expect(await world.store.fact("shared")).toBe("8");
  });
}
