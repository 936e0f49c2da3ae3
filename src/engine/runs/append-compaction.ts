/**
 * Appends a compaction: the entry, the counters and, within a run, its step, in one commit. Before it the old context holds,
 * after it the new one; there is no state in between (L10).
 */

import type { AgentState } from "../../core/agent/state.ts";
import type { RunBody } from "../../core/run/run.ts";
import type { Candidate } from "../context/compaction/make-compaction.ts";
import { chain } from "../context/entries.ts";
import type { Holding } from "../runtime/agent-lease.ts";
import type { LiveRun } from "../runtime/live-run.ts";
import type { RunPorts } from "../runtime/run-ports.ts";
import { countSpent } from "../runtime/usage.ts";

export async function appendCompaction(
  ports: Pick<RunPorts, "ids" | "clock">,
  holding: Holding,
  { entry }: Candidate,
  within?: { readonly run: LiveRun; readonly body: RunBody },
): Promise<void> {
  const append = chain(ports.ids, holding, [entry]);
  const state = stateAfter(holding.state, entry, ports.clock.now());
  if (!within) {
    await holding.commit({ site: "compact.rest", ops: [], append, state });
    return;
  }
  const { run, body } = within;
  const ops = [{ op: "run.step", runId: run.id, body }] as const;
  await holding.commit({ site: "compact", ops, append, state, run: run.guard() });
  run.stepped(body);
}

/** A cycle ends with a summary or a note in the place of messages; cutting outputs is no new cycle. */
function stateAfter(state: AgentState, { details }: Candidate["entry"], at: number): AgentState {
  const { kind, provider, model, usage } = details;
  const counted = kind === "summary" && usage ? countSpent(state, provider ?? "", model ?? "", usage) : state;
  const cycle = kind === "summary" || kind === "prune" ? 1 : 0;
  return { ...counted, compactionCount: (state.compactionCount ?? 0) + cycle, updatedAt: at };
}
