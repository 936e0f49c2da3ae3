/**
 * What became of a message that was posted for a caller: the answer of the run that took it. From the run's result where it
 * ended just now, from the run's row and its last entry where it ended before, also in an earlier life of the process.
 */

import type { Usage } from "../../../core/history/entry.ts";
import type { AgentId, RunId } from "../../../core/ids.ts";
import type { Ports } from "../../../core/ports/ports.ts";
import type { RunErrorKind, RunOutcome, RunResult } from "../../../core/run/run.ts";
import { readRunResult } from "../../../engine/runs/run-result.ts";

export interface Answer {
  readonly agentId: AgentId;
  readonly seq: number;
  readonly runId: RunId | undefined;
  readonly outcome: RunOutcome | "dropped" | "discarded" | "removed" | "recorded" | "pruned";
  readonly text: string;
  readonly error?: { readonly kind: RunErrorKind | "queue"; readonly message: string };
  readonly stopReason?: string;
  readonly usage?: Pick<Usage, "input" | "output" | "cacheRead" | "cacheWrite" | "totalTokens">;
}

export function answerOfResult(result: RunResult, seq: number): Answer {
  const { runId, agentId, outcome, payloads, meta } = result;
  const text = payloads.flatMap((payload) => (payload.isError ? [] : (payload.text ?? ""))).join("\n");
  const used = meta.agentMeta?.usage;
  return {
    agentId,
    seq,
    runId,
    outcome,
    text,
    ...(meta.error ? { error: meta.error } : {}),
    ...(meta.stopReason ? { stopReason: meta.stopReason } : {}),
    ...(used
      ? {
          usage: {
            input: used.input ?? 0,
            output: used.output ?? 0,
            cacheRead: used.cacheRead ?? 0,
            cacheWrite: used.cacheWrite ?? 0,
            totalTokens: used.total ?? 0,
          },
        }
      : {}),
  };
}

/** Reads it from the store; undefined while the message is not settled. */
export async function readAnswer(
  { store }: Pick<Ports, "store">,
  agentId: AgentId,
  seq: number,
): Promise<Answer | undefined> {
  const message = await store.message(agentId, seq);
  const nobody = { agentId, seq, runId: undefined, text: "" } as const;
  if (!message) return { ...nobody, outcome: "pruned" };
  const { state, runId, reason } = message;
  if (state === "waiting" || state === "taken") return undefined;
  if (state === "dropped" || state === "discarded" || state === "removed") {
    const error = { kind: "queue" as const, message: reason ?? state };
    return { ...nobody, outcome: state, error };
  }
  const result = runId && (await readRunResult(store, runId));
  if (!result) return { ...nobody, runId, outcome: state === "recorded" ? "recorded" : "pruned" };
  const answer = answerOfResult(result, seq);
  // A run that only compacted said nothing: the last words of the history are another run's.
  return message.body.kind === "compact" ? { ...answer, text: "" } : answer;
}
