/** Reads `pending.json`, strictly: what it holds becomes rows again. */
import { z } from "zod";
import { deliveryContextSchema, payloadSchema } from "../../../core/delivery/delivery.ts";
import { CorruptDataError } from "../../../core/errors.ts";
import { newMessageSchema } from "../../../core/message/message.ts";
import { runBodySchema } from "../../../core/run/run.ts";
import { parseJson } from "./parse-json.ts";
import { PENDING_VERSION } from "./pending-file.ts";

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

/** Throws `CorruptDataError` where the file cannot be used. */
export function parsePendingFile(text: string, where: string): PendingFile {
  const result = pendingSchema.safeParse(parseJson(text, where));
  if (result.success) return result.data;
  throw new CorruptDataError(`${where} is not valid: ${z.prettifyError(result.error)}`, {
    hint: "The file was left as it is. Restore it from a backup.",
  });
}
