/** The work of a run that a person asked for with `/compact`: one summary, one commit, and a text about it. */
import type { CompactResult } from "../../../core/run/compact-result.ts";
import type { AgentLease } from "../../runtime/agent-lease.ts";
import type { LiveRun } from "../../runtime/live-run.ts";
import type { RunPorts } from "../../runtime/run-ports.ts";
import { measureForRun } from "../measure-context.ts";
import { appendCompaction } from "./append-compaction.ts";
import type { BackgroundCompaction } from "./background-compaction.ts";
import { describeCompaction } from "./describe-compaction.ts";
import { summaryFor } from "./fit-context.ts";
import { type CompactionInput, makesProgress } from "./make-compaction.ts";
import { measuresTaken } from "./measures-taken.ts";

const COMPACTED_TEXT = "⚙️ Compacted";
const NOT_COMPACTED_TEXT = "⚙️ Compaction skipped";
export const COMPACTION_FAILED_TEXT = "⚙️ Compaction failed";
const NO_PROGRESS = "the summary would not be smaller than the messages it replaces";
const DONE_BEFORE = "it was compacted before the program stopped";

/** The result of the run and its text for people. Undefined if the run must end first. */
export async function compactAsAsked(
  ports: RunPorts,
  lease: AgentLease,
  run: LiveRun,
  background?: BackgroundCompaction,
): Promise<{ readonly result: CompactResult; readonly text: string } | undefined> {
  const { position } = run;
  run.state = "compacting";
  ports.events.emit(position, { type: "compaction_start", reason: "manual" });
  const result = await compacting(ports, lease, run, background);
  run.state = "active";
  const text = textOf(result);
  ports.events.emit(position, { type: "compaction_end", compacted: result.compacted, text });
  return run.signal.aborted && !result.compacted ? undefined : { result, text };
}

async function compacting(
  ports: RunPorts,
  lease: AgentLease,
  run: LiveRun,
  background: BackgroundCompaction | undefined,
): Promise<CompactResult> {
  const taken = await measuresTaken(ports.store, lease, run.id);
  if (taken.has("summary")) return { ok: true, compacted: true, reason: DONE_BEFORE };
  const { instructions } = run.body.compact ?? {};
  const measured = await measureForRun(ports, lease, run);
  const input: CompactionInput = {
    agentId: lease.agentId,
    path: await lease.path(),
    tokens: measured.tokens,
    overhead: measured.overhead,
    at: ports.clock.now(),
    reason: "manual",
    runId: run.id,
  };
  const attempt = await summaryFor(ports, lease, run, input, measured, { instructions, background });
  if ("refused" in attempt) return { ok: true, compacted: false, reason: attempt.refused };
  if ("why" in attempt) return { ok: false, compacted: false, reason: attempt.reason };
  const { made } = attempt;
  if (!makesProgress(made)) {
    run.countLost(made.entry.details.usage);
    return { ok: true, compacted: false, reason: NO_PROGRESS };
  }
  if (run.signal.aborted) return { ok: false, compacted: false, reason: "aborted" };
  await appendCompaction(ports, lease, made, run);
  background?.appended();
  const { summary, firstKeptEntryId, tokensBefore, details } = made.entry;
  return { ok: true, compacted: true, result: { summary, firstKeptEntryId, tokensBefore, details } };
}

function textOf({ ok, compacted, reason, result }: CompactResult): string {
  if (!ok) return `${COMPACTION_FAILED_TEXT}: ${reason}.`;
  if (!compacted) return `${NOT_COMPACTED_TEXT}: ${reason?.replace(/\.$/u, "")}.`;
  return result ? `${COMPACTED_TEXT}: ${describeCompaction(result)}.` : `${COMPACTED_TEXT}: ${reason}.`;
}
