/**
 * The details of a compaction's entry beside its summary: its reason, its sizes, what it covers, keeps and carries along.
 * Read leniently: entries of other programs have other details, or none.
 */
import { z } from "zod";
import { COMPACTION_KINDS, COMPACTION_REASONS } from "../../../core/history/compaction-settings.ts";
import { type Entry, usageSchema } from "../../../core/history/entry.ts";
import type { EntryId } from "../../../core/ids.ts";

const id = z.string().transform((text) => text as EntryId);
const texts = z.array(z.string());

/** Applies to entries of the kept part up to and including `through`. Recorded, so that every reader applies the same. */
const measureSchema = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("truncate"), chars: z.number().int().positive(), through: id }),
  z.object({ kind: z.literal("images"), through: id }),
]);
export type Measure = z.infer<typeof measureSchema>;

const detailsSchema = z.looseObject({
  provider: z.string().optional(),
  model: z.string().optional(),
  timestamp: z.number().optional(),
  kind: z.enum(COMPACTION_KINDS).optional(),
  reason: z.enum(COMPACTION_REASONS).optional(),
  runId: z.string().optional(),
  tokensAfter: z.number().nonnegative().optional(),
  /** The entries that the summary or note replaces; absent if only outputs were cut. */
  covered: z.looseObject({ from: id, through: id, messages: z.number() }).optional(),
  /** How many messages have been left out without a summary since the last one. */
  pruned: z.number().optional(),
  kept: z.looseObject({ messages: z.number(), tokens: z.number() }).optional(),
  /** A turn was too long and was cut in two. */
  split: z.boolean().optional(),
  /** The request of the turn that was cut, message by message, word for word, and its run. */
  request: texts.optional(),
  requestRunId: z.string().optional(),
  readFiles: texts.optional(),
  modifiedFiles: texts.optional(),
  identifiers: texts.optional(),
  references: texts.optional(),
  measures: z.array(measureSchema).optional(),
  instructions: z.string().optional(),
  usage: usageSchema.optional(),
});
export type CompactionDetails = z.infer<typeof detailsSchema>;
export type CompactionEntry = Extract<Entry, { type: "compaction" }>;

const NONE: CompactionDetails = {};

/** Never throws: a field that cannot be read counts as absent. */
export function compactionDetails({ details }: Pick<CompactionEntry, "details">): CompactionDetails {
  if (typeof details !== "object" || details === null) return NONE;
  const whole = detailsSchema.safeParse(details);
  if (whole.success) return whole.data;
  const bad = new Set(whole.error.issues.map(({ path }) => path[0]));
  const rest = Object.fromEntries(Object.entries(details).filter(([key]) => !bad.has(key)));
  const parsed = detailsSchema.safeParse(rest);
  return parsed.success ? parsed.data : NONE;
}
