/** The result of a request to compact. A context that needs no compaction is `ok`; `reason` says why nothing was done. */
import { z } from "zod";
import type { EntryId } from "../ids.ts";

export const compactResultSchema = z.looseObject({
  /** False if compaction was needed and failed. */
  ok: z.boolean(),
  compacted: z.boolean(),
  reason: z.string().optional(),
  result: z
    .looseObject({
      summary: z.string(),
      firstKeptEntryId: z.string().transform((id) => id as EntryId),
      tokensBefore: z.number(),
      details: z.unknown().optional(),
    })
    .optional(),
});

export type CompactResult = z.infer<typeof compactResultSchema>;
