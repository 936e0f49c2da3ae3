/** What is kept beside agents: cron jobs, subagent runs and small facts. */
import { expect } from "vitest";
import type { CronJob } from "../../src/core/job.ts";
import type { SubagentRunRecord } from "../../src/core/subagent-run.ts";
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
    expect(await world.store.job("b")).toEqual(changed);
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

  storeTest("a fact is put, replaced and removed", open, async (world) => {
    expect(await world.store.fact("offset")).toBeUndefined();
    await world.done([{ op: "fact.put", key: "offset", value: "1" }]);
    await world.done([{ op: "fact.put", key: "offset", value: "2" }]);
    expect(await world.store.fact("offset")).toBe("2");
    await world.done([{ op: "fact.put", key: "offset", value: null }]);
    expect(await world.store.fact("offset")).toBeUndefined();
  });
}
