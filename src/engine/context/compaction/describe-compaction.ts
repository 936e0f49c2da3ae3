/** A compaction in one readable line: what was done, how large the context was and is, what was kept, and why. */
import type { CompactionKind, CompactionReason } from "../../../core/history/compaction-settings.ts";
import { type CompactionEntry, compactionDetails } from "./compaction-details.ts";

const DONE: Readonly<Record<CompactionKind, string>> = {
  summary: "summarised",
  truncate: "tool outputs cut",
  images: "images left out",
  prune: "oldest turns left out",
};

const WHY: Readonly<Record<CompactionReason, string>> = {
  manual: "asked for",
  critical: "critical limit",
  overflow: "refused by the provider as too large",
  background: "warning limit, in the background",
  emergency: "emergency limit",
};

export function describeCompaction(entry: Pick<CompactionEntry, "tokensBefore" | "details">): string {
  const { kind, reason, tokensAfter, covered, kept, split } = compactionDetails(entry);
  const tokens =
    tokensAfter === undefined ? `${entry.tokensBefore} tokens` : `${entry.tokensBefore} → ${tokensAfter} tokens`;
  const parts = [
    tokens,
    kind ? DONE[kind] : undefined,
    covered ? `${covered.messages} messages covered` : undefined,
    kept ? `${kept.messages} kept (${kept.tokens} tokens)` : undefined,
    split ? "a turn was split" : undefined,
    reason ? `why: ${WHY[reason]}` : undefined,
  ];
  return parts.filter((part) => part !== undefined).join(", ");
}
