/**
 * Appends a compaction in one commit: the entry, the counters and, within a run, its step. The context is the old one before
 * it and the new one after it, with nothing in between (L10).
 */

import type { AgentState } from "../../../core/agent/state.ts";
import { isMarked } from "../../people/untrusted.ts";
import type { AgentLease } from "../../runtime/agent-lease.ts";
import type { LiveRun } from "../../runtime/live-run.ts";
import type { RunPorts } from "../../runtime/run-ports.ts";
import { countSpent } from "../../runtime/usage.ts";
import { chain } from "../entries.ts";
import type { CompactionProposal } from "./make-compaction.ts";

export async function appendCompaction(
  ports: Pick<RunPorts, "ids" | "clock">,
  lease: AgentLease,
  { entry }: CompactionProposal,
  run?: LiveRun,
): Promise<void> {
  // The summary was made of the marked text, and keeps the mark (M32).
  const untrusted = isMarked(lease.state) ? { from: "context" } : undefined;
  const append = chain(ports.ids, lease, [{ ...entry, untrusted }]);
  const state = stateAfter(lease.state, entry, ports.clock.now());
  if (!run) {
    await lease.commit({ site: "compact.rest", ops: [], append, state });
    return;
  }
  const { id: runId, body } = run;
  await lease.commit({ site: "compact", ops: [{ op: "run.step", runId, body }], append, state, run: run.guard() });
  run.stepped(body);
}

/** A summary, or a note in the place of messages, ends a cycle. Cutting outputs does not. */
function stateAfter(state: AgentState, { details }: CompactionProposal["entry"], at: number): AgentState {
  const { kind, provider, model, usage } = details;
  const counted = kind === "summary" && usage ? countSpent(state, provider ?? "", model ?? "", usage) : state;
  const cycle = kind === "summary" || kind === "prune" ? 1 : 0;
  return { ...counted, compactionCount: (state.compactionCount ?? 0) + cycle, updatedAt: at };
}
