/**
 * Which measures a run has taken since its last answer. Read from history, so that it is the same after a restart: each
 * happens at most once between two answers (L10).
 */
import type { CompactionKind } from "../../../core/history/compaction-settings.ts";
import type { AgentId, EntryId, RunId } from "../../../core/ids.ts";
import type { StoreReader } from "../../../core/store/store.ts";
import { walkBack } from "../walk-back.ts";
import { compactionDetails } from "./compaction-details.ts";

export async function measuresTaken(
  store: Pick<StoreReader, "linesBack">,
  { agentId, leaf }: { readonly agentId: AgentId; readonly leaf: EntryId },
  runId: RunId,
): Promise<Set<CompactionKind>> {
  const taken = new Set<CompactionKind>();
  for await (const entry of walkBack(store, agentId, leaf)) {
    if (entry.type === "start" || entry.type === "reset") break;
    if (entry.type === "message" && entry.role === "assistant") break;
    if (entry.type !== "compaction") continue;
    const { kind, runId: of } = compactionDetails(entry);
    if (kind && of === runId) taken.add(kind);
  }
  return taken;
}
