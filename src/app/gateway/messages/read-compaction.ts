/** How the compaction that a message asked for has ended, also before a restart. Undefined while it has not. */
import type { AgentId } from "../../../core/ids.ts";
import { isSettled } from "../../../core/message/message.ts";
import type { CompactResult } from "../../../core/run/compact-result.ts";
import type { StoreReader } from "../../../core/store/store.ts";
import { notMade } from "../../../engine/context/compaction/compact-session.ts";
import { readRunResult } from "../../../engine/runs/run-result.ts";

export async function readCompaction(
  store: StoreReader,
  agentId: AgentId,
  seq: number,
): Promise<CompactResult | undefined> {
  const message = await store.message(agentId, seq);
  if (message && !isSettled(message)) return undefined;
  const result = message?.runId && (await readRunResult(store, message.runId));
  if (result) return result.meta.compaction ?? notMade(result);
  return { ok: false, compacted: false, reason: message?.reason ?? "its record was removed" };
}
