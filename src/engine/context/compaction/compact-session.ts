/** Asks for a compaction through the API and waits for it: like `/compact`, with the result as data. */

import { TimeoutError } from "../../../core/errors.ts";
import type { AgentId } from "../../../core/ids.ts";
import type { MessageBody } from "../../../core/message/message.ts";
import type { CompactResult } from "../../../core/run/compact-result.ts";
import type { RunResult } from "../../../core/run/run.ts";

export interface CompactParams {
  readonly agentId: AgentId;
  /** What the summary should focus on. */
  readonly customInstructions?: string;
  readonly timeoutMs?: number;
}

/** The part of an `AgentSystem` that is needed. */
interface Asks {
  postAndAwait(
    posting: { readonly to: { readonly agentId: AgentId }; readonly body: Extract<MessageBody, { kind: "compact" }> },
    waiting: { readonly timeoutMs: number },
  ): Promise<{ readonly result: RunResult | undefined }>;
}

const WAIT_MS = 300_000;

/** Never throws for an expected outcome: a compaction that was not made says why. */
export async function compactSession(
  agents: Asks,
  { agentId, customInstructions, timeoutMs = WAIT_MS }: CompactParams,
): Promise<CompactResult> {
  const body = { kind: "compact", instructions: customInstructions || undefined } as const;
  try {
    const { result } = await agents.postAndAwait({ to: { agentId }, body }, { timeoutMs });
    return result?.meta.compaction ?? notMade(result);
  } catch (error) {
    if (error instanceof TimeoutError) return { ok: false, compacted: false, reason: error.message };
    throw error;
  }
}

/** What a run that was asked to compact and has no result of it says. */
export const notMade = (result: RunResult | undefined): CompactResult => ({
  ok: false,
  compacted: false,
  reason: result?.meta.error?.message ?? `the run ended ${result?.outcome ?? "unseen"}`,
});
