/** What asking for a compaction gives. Not compacting is no failure: `reason` says why nothing was done. */
import type { EntryId } from "../ids.ts";

export interface CompactResult {
  /** False where it was to be done and could not be. */
  readonly ok: boolean;
  readonly compacted: boolean;
  readonly reason?: string;
  readonly result?: {
    readonly summary: string;
    readonly firstKeptEntryId: EntryId;
    readonly tokensBefore: number;
    readonly details?: unknown;
  };
}
