/** Looks up the result of a run that has ended: its record, and the line of history that holds its answer. */
import { readEntry } from "../../core/history/entry.ts";
import type { RunId } from "../../core/ids.ts";
import type { RunResult } from "../../core/run/run.ts";
import { runResult } from "../../core/run/run.ts";
import type { StoreReader } from "../../core/store/store.ts";

/** Undefined if the run is unknown, pruned or has not ended. */
export async function readRunResult(
  store: Pick<StoreReader, "run" | "linesBack">,
  runId: RunId,
): Promise<RunResult | undefined> {
  const run = await store.run(runId);
  if (!run?.outcome) return undefined;
  const { outcome, agentId, body } = run;
  // The record names the line's position, so nothing is searched.
  const before = body.lastPos === undefined ? 0 : body.lastPos + 1;
  const [line] = before === 0 ? [] : await store.linesBack(agentId, { before, limit: 1 });
  const read = line && readEntry(line.line);
  return runResult({ ...run, outcome }, read?.kind === "entry" ? read.entry : undefined);
}
