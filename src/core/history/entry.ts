/**
 * An entry is one line of an agent's history: append-only, with `id` and `parentId` (a tree). The store keeps each entry
 * as exactly the line in `history.jsonl`, so that the same history always builds the same bytes.
 */
import { z } from "zod";
import { agentDescriptorSchema } from "../agent/descriptor.ts";
import type { EntryId, RunId, SessionId } from "../ids.ts";

export const TRANSCRIPT_VERSION = 2;

const id = z
  .string()
  .min(1)
  .transform((text) => text as EntryId);
const sessionId = z
  .string()
  .min(1)
  .transform((text) => text as SessionId);
const runId = z
  .string()
  .min(1)
  .transform((text) => text as RunId);

export const usageSchema = z.looseObject({
  input: z.number(),
  output: z.number(),
  cacheRead: z.number(),
  cacheWrite: z.number(),
  totalTokens: z.number(),
  cost: z
    .looseObject({
      input: z.number(),
      output: z.number(),
      cacheRead: z.number(),
      cacheWrite: z.number(),
      total: z.number(),
    })
    .optional(),
  /** Counts that the provider did not report, if it reported the other one. They are 0 in the sums. */
  unknown: z
    .array(z.enum(["input", "output"]))
    .readonly()
    .optional(),
});
export type Usage = z.infer<typeof usageSchema>;

/** `unknown` of a usage. */
export function unknownCounts(input: number | undefined, output: number | undefined): Usage["unknown"] {
  if (input === undefined) return output === undefined ? ["input", "output"] : ["input"];
  return output === undefined ? ["output"] : undefined;
}

export const blockSchema = z.discriminatedUnion("type", [
  z.looseObject({ type: z.literal("text"), text: z.string() }),
  z.looseObject({ type: z.literal("thinking"), thinking: z.string() }),
  z.looseObject({ type: z.literal("image"), data: z.string(), mimeType: z.string() }),
  z.looseObject({
    type: z.literal("toolCall"),
    id: z.string(),
    name: z.string(),
    arguments: z.record(z.string(), z.unknown()),
    /** What the model wrote is not a complete JSON object. Such a call is never executed. */
    malformed: z.boolean().optional(),
  }),
]);
export type Block = z.infer<typeof blockSchema>;
export type ToolCallBlock = Extract<Block, { type: "toolCall" }>;

const stopReasonSchema = z.enum(["stop", "length", "tool_calls", "error", "aborted"]);
export type StopReason = z.infer<typeof stopReasonSchema>;

/** Set on text that the run's person did not write: it may try to instruct the model (M32). `from`: where it came from. */
const untrustedSchema = z.looseObject({ from: z.string() });
export type Untrusted = z.infer<typeof untrustedSchema>;
const untrusted = untrustedSchema.optional();

/** `.loose` everywhere: fields that a newer program wrote are kept. */
export const entrySchema = z.discriminatedUnion("type", [
  z.looseObject({
    type: z.literal("session"),
    version: z.number().int(),
    id: z.string(),
    timestamp: z.string(),
    cwd: z.string().optional(),
    parentSession: z.string().optional(),
    descriptor: agentDescriptorSchema.optional(),
  }),
  z.looseObject({ type: z.literal("start"), id, parentId: id.nullable(), sessionId, timestamp: z.number() }),
  z.looseObject({
    type: z.literal("reset"),
    id,
    parentId: id.nullable(),
    sessionId,
    timestamp: z.number(),
    message: z.string().optional(),
  }),
  z.looseObject({
    type: z.literal("message"),
    id,
    parentId: id.nullable(),
    role: z.enum(["user", "assistant", "tool"]),
    content: z.array(blockSchema),
    timestamp: z.number(),
    runId: runId.optional(),
    /** The inbox messages this entry records (role `user`). */
    seqs: z.array(z.number().int()).optional(),
    api: z.string().optional(),
    provider: z.string().optional(),
    model: z.string().optional(),
    usage: usageSchema.optional(),
    stopReason: stopReasonSchema.optional(),
    errorMessage: z.string().optional(),
    toolCallId: z.string().optional(),
    toolName: z.string().optional(),
    isError: z.boolean().optional(),
    untrusted,
  }),
  z.looseObject({
    type: z.literal("custom_message"),
    id,
    parentId: id.nullable(),
    role: z.literal("user"),
    content: z.array(blockSchema),
    hidden: z.boolean().optional(),
    timestamp: z.number().optional(),
    seqs: z.array(z.number().int()).optional(),
  }),
  z.looseObject({
    type: z.literal("custom"),
    id,
    parentId: id.nullable(),
    name: z.string(),
    data: z.unknown(),
    timestamp: z.number().optional(),
  }),
  z.looseObject({
    type: z.literal("compaction"),
    id,
    parentId: id.nullable(),
    summary: z.string(),
    firstKeptEntryId: id,
    tokensBefore: z.number(),
    details: z.unknown().optional(),
    timestamp: z.number().optional(),
    untrusted,
  }),
  z.looseObject({
    type: z.literal("branch_summary"),
    id,
    parentId: id.nullable(),
    summary: z.string(),
    timestamp: z.number().optional(),
  }),
]);
export type Entry = z.infer<typeof entrySchema>;
export type EntryType = Entry["type"];
export type MessageEntry = Extract<Entry, { type: "message" }>;
const ENTRY_TYPES: readonly string[] = entrySchema.options.map((option) => option.shape.type.value);

/** The outcome of reading a line. Unknown types are kept in the chain and skipped; a broken line is reported. */
export type ReadEntry =
  | { readonly kind: "entry"; readonly entry: Entry }
  | { readonly kind: "unknown"; readonly type: string; readonly id?: EntryId; readonly parentId?: EntryId | null }
  | { readonly kind: "broken"; readonly reason: string };

const text = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);

/** Reads one line of history. Never throws: the result says what kind of line it is. */
export function readEntry(line: string): ReadEntry {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (error) {
    return { kind: "broken", reason: `not JSON: ${(error as Error).message}` };
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return { kind: "broken", reason: "not an object" };
  const record = value as Record<string, unknown>;
  const type = text(record.type);
  if (type === undefined) return { kind: "broken", reason: "no type" };
  if (!ENTRY_TYPES.includes(type)) {
    const parentId = record.parentId === null ? null : (text(record.parentId) as EntryId | undefined);
    return { kind: "unknown", type, id: text(record.id) as EntryId | undefined, parentId };
  }
  const parsed = entrySchema.safeParse(record);
  return parsed.success
    ? // The line's own value, not the schema's copy of it: a copy has its keys in another order, and a history must always
      // build the same bytes (L11).
      { kind: "entry", entry: record as unknown as Entry }
    : { kind: "broken", reason: z.prettifyError(parsed.error).replaceAll("\n", "; ") };
}

/** Writes an entry as its line, without the line end. */
export const entryLine = (entry: Entry): string => JSON.stringify(entry);
