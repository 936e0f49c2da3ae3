/** The answer to a message, from the result of the run that took it. */
import type { AgentId } from "../../../core/ids.ts";
import type { Ports } from "../../../core/ports/ports.ts";
import type { RunResult } from "../../../core/run/run.ts";
import { readRunResult } from "../../../engine/runs/run-result.ts";
import type { Answer } from "../schemas/message.ts";

export function answerOfResult({ runId, agentId, outcome, payloads, meta }: RunResult, seq: number): Answer {
  const used = meta.agentMeta?.usage;
  return {
    agentId,
    seq,
    runId,
    outcome,
    text: payloads.flatMap((payload) => (payload.isError ? [] : (payload.text ?? ""))).join("\n"),
    error: meta.error,
    stopReason: meta.stopReason,
    calls: meta.stopReason === "tool_calls" ? meta.pendingToolCalls : undefined,
    usage: used && {
      input: used.input ?? 0,
      output: used.output ?? 0,
      cacheRead: used.cacheRead ?? 0,
      cacheWrite: used.cacheWrite ?? 0,
      totalTokens: used.total ?? 0,
    },
  };
}

/** Undefined while the message is not settled. */
export async function readAnswer(
  { store }: Pick<Ports, "store">,
  agentId: AgentId,
  seq: number,
): Promise<Answer | undefined> {
  const message = await store.message(agentId, seq);
  const withoutRun = { agentId, seq, runId: undefined, text: "" } as const;
  if (!message) return { ...withoutRun, outcome: "pruned" };
  const { state, runId, reason } = message;
  if (state === "waiting" || state === "taken") return undefined;
  if (state === "dropped" || state === "discarded" || state === "removed") {
    const error = { kind: "queue" as const, message: reason ?? state };
    return { ...withoutRun, outcome: state, error };
  }
  const result = runId && (await readRunResult(store, runId));
  // A command without an address for its answer has it in the reason.
  const text = message.body.kind === "command" && !message.delivery ? (reason ?? "") : "";
  if (!result) return { ...withoutRun, text, runId, outcome: state === "recorded" ? "recorded" : "pruned" };
  const answer = answerOfResult(result, seq);
  // A compaction has no answer: the last text in the history belongs to an earlier run.
  return message.body.kind === "compact" ? { ...answer, text: "" } : answer;
}
