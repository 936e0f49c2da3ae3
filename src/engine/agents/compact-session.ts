/** Asks for a compaction by the program's own interface and waits for it: as `/compact`, with the result as data. */

import { TimeoutError } from "../../core/errors.ts";
import type { AgentId } from "../../core/ids.ts";
import type { CompactResult } from "../../core/run/compact-result.ts";
import type { AgentSystem } from "./agent-system.ts";

export interface CompactParams {
  readonly agentId: AgentId;
  /** What is to be heeded in the summary. */
  readonly customInstructions?: string;
  readonly timeoutMs?: number;
}

const WAIT_MS = 300_000;

/** Never throws for an expected outcome: what was not done says why. */
export async function compactSession(
  agents: Pick<AgentSystem, "postAndAwait">,
  { agentId, customInstructions, timeoutMs = WAIT_MS }: CompactParams,
): Promise<CompactResult> {
  const body = { kind: "compact", ...(customInstructions ? { instructions: customInstructions } : {}) } as const;
  try {
    const { result } = await agents.postAndAwait({ to: { agentId }, body }, { timeoutMs });
    const reason = result?.meta.error?.message ?? `the run ended ${result?.outcome ?? "unseen"}`;
    return result?.meta.compaction ?? { ok: false, compacted: false, reason };
  } catch (error) {
    if (error instanceof TimeoutError) return { ok: false, compacted: false, reason: error.message };
    throw error;
  }
}
