/** By the committed records, an agent has one run at a time, and its history has no gap (L3). */
import type { StoreReader } from "../../../src/core/store/store.ts";

export async function oneRunAtATime(store: StoreReader): Promise<string[]> {
  const problems: string[] = [];
  for (const agent of await store.agents({ limit: 10_000 })) {
    const runs = (await store.runs(agent.id, { limit: 100_000 })).toReversed();
    for (const [index, run] of runs.entries()) {
      const before = runs[index - 1];
      if (before && (before.endedAt ?? Number.POSITIVE_INFINITY) > run.startedAt) {
        problems.push(`${agent.id}: run ${run.id} began before ${before.id} had ended`);
      }
    }
    const lines = await store.linesBack(agent.id, { limit: 1_000_000 });
    if (lines.length !== agent.nextPos)
      problems.push(`${agent.id}: its history has ${lines.length} of ${agent.nextPos} lines`);
    if (runs.some(({ state }) => state === "open")) problems.push(`${agent.id}: a run is still open`);
  }
  return problems;
}
