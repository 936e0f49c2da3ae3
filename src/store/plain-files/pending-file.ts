/**
 * `pending.json`: what of an agent is not finished (M6). Counters, messages that wait or are taken, the open run with its
 * intents, deliveries that have not ended, and the newest dedupe keys.
 */
import { z } from "zod";
import { deliveryContextSchema, payloadSchema } from "../../core/delivery.ts";
import { CorruptDataError } from "../../core/errors.ts";
import { newMessageSchema } from "../../core/message.ts";
import { runBodySchema } from "../../core/run.ts";
import { jsonText } from "./layout.ts";
import type { AgentRow, DedupeRow, DeliveryRow, MessageRow, RunRow } from "./mirror-source.ts";
import { parseJson } from "./state-file.ts";

export const PENDING_VERSION = 1;
/** How many of an agent's newest messages keep their dedupe key in the file. */
export const DEDUPE_KEYS = 200;

const pendingSchema = z.looseObject({
  version: z.literal(PENDING_VERSION),
  nextSeq: z.number().int().positive(),
  nextPos: z.number().int().nonnegative(),
  leaf: z.string().min(1),
  lastHumanAt: z.number().int().optional(),
  messages: z.array(
    z.object({
      seq: z.number().int().positive(),
      state: z.enum(["waiting", "taken"]),
      runId: z.string().optional(),
      message: newMessageSchema,
    }),
  ),
  run: z
    .object({
      id: z.string().min(1),
      sessionId: z.string().min(1),
      attempt: z.number().int(),
      step: z.number().int(),
      startedAt: z.number().int(),
      abort: z.unknown().optional(),
      body: runBodySchema,
    })
    .optional(),
  deliveries: z.array(
    z.object({
      id: z.string().min(1),
      runId: z.string().optional(),
      state: z.enum(["pending", "sending"]),
      attempts: z.number().int(),
      nextAt: z.number().int(),
      createdAt: z.number().int(),
      reason: z.string().optional(),
      target: deliveryContextSchema,
      payload: payloadSchema,
    }),
  ),
  dedupe: z.array(z.tuple([z.string(), z.number().int(), z.number().int()])),
});
export type PendingFile = z.infer<typeof pendingSchema>;

export interface PendingRows {
  readonly agent: AgentRow;
  readonly run: RunRow | undefined;
  readonly messages: readonly MessageRow[];
  readonly deliveries: readonly DeliveryRow[];
  readonly dedupe: readonly DedupeRow[];
}

const json = (text: string): unknown => JSON.parse(text);

export function pendingText({ agent, run, messages, deliveries, dedupe }: PendingRows): string {
  const head = {
    version: PENDING_VERSION,
    nextSeq: agent.next_seq,
    nextPos: agent.next_pos,
    leaf: agent.leaf,
    lastHumanAt: agent.last_human_at ?? undefined,
    messages: messages.map((row) => ({
      seq: row.seq,
      state: row.state,
      runId: row.run_id ?? undefined,
      message: json(row.message),
    })),
    run: run && {
      id: run.id,
      sessionId: run.session_id,
      attempt: run.attempt,
      step: run.step,
      startedAt: run.started_at,
      abort: run.abort === null ? undefined : json(run.abort),
      body: json(run.body),
    },
    deliveries: deliveries.map((row) => ({
      id: row.id,
      runId: row.run_id ?? undefined,
      state: row.state,
      attempts: row.attempts,
      nextAt: row.next_at,
      createdAt: row.created_at,
      reason: row.reason ?? undefined,
      target: json(row.target),
      payload: json(row.payload),
    })),
  };
  // One key per line: two hundred of them, each on five lines, would bury the rest.
  const keys = dedupe.map((row) => `    ${JSON.stringify(row)}`).join(",\n");
  return `${jsonText(head).slice(0, -3)},\n  "dedupe": [${keys === "" ? "" : `\n${keys}\n  `}]\n}\n`;
}

/** Throws `CorruptDataError` where the file cannot be used. */
export function parsePendingFile(text: string, where: string): PendingFile {
  const result = pendingSchema.safeParse(parseJson(text, where));
  if (result.success) return result.data;
  throw new CorruptDataError(`${where} is not valid: ${z.prettifyError(result.error)}`, {
    hint: "The file was left as it is. Restore it from a backup.",
  });
}

/** The dedupe keys of a file that may be missing or broken: then none. */
export function dedupeKeysIn(bytes: Buffer | undefined): readonly string[] {
  try {
    const { dedupe } = JSON.parse(bytes?.toString() ?? "{}") as { dedupe?: readonly (readonly unknown[])[] };
    return (dedupe ?? []).map((row) => row[0]).filter((key) => typeof key === "string");
  } catch {
    return [];
  }
}
