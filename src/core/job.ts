/** A cron job: what makes messages by itself at stated times. The shapes are clawdbot's, so that its files can be read. */
import { z } from "zod";

export const cronScheduleSchema = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("at"), atMs: z.number().int() }),
  z.object({ kind: z.literal("every"), everyMs: z.number().int().positive(), anchorMs: z.number().int().optional() }),
  z.object({ kind: z.literal("cron"), expr: z.string().min(1), tz: z.string().optional() }),
]);
export type CronSchedule = z.infer<typeof cronScheduleSchema>;

export const cronPayloadSchema = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("systemEvent"), text: z.string() }),
  z.object({
    kind: z.literal("agentTurn"),
    message: z.string(),
    model: z.string().optional(),
    thinking: z.string().optional(),
    timeoutSeconds: z.number().optional(),
    deliver: z.boolean().optional(),
    channel: z.string().optional(),
    to: z.string().optional(),
    bestEffortDeliver: z.boolean().optional(),
  }),
]);
export type CronPayload = z.infer<typeof cronPayloadSchema>;

export const cronJobSchema = z.looseObject({
  id: z.string().min(1),
  agentId: z.string().optional(),
  name: z.string().min(1),
  description: z.string().optional(),
  enabled: z.boolean(),
  deleteAfterRun: z.boolean().optional(),
  createdAtMs: z.number().int(),
  updatedAtMs: z.number().int(),
  schedule: cronScheduleSchema,
  sessionTarget: z.enum(["main", "isolated"]),
  wakeMode: z.enum(["next-heartbeat", "now"]),
  payload: cronPayloadSchema,
  isolation: z
    .object({
      postToMainPrefix: z.string().optional(),
      postToMainMode: z.enum(["summary", "full"]).optional(),
      postToMainMaxChars: z.number().int().optional(),
    })
    .optional(),
  state: z.looseObject({
    nextRunAtMs: z.number().int().optional(),
    runningAtMs: z.number().int().optional(),
    lastRunAtMs: z.number().int().optional(),
    lastStatus: z.enum(["ok", "error", "skipped"]).optional(),
    lastError: z.string().optional(),
    lastDurationMs: z.number().optional(),
  }),
});
export type CronJob = z.infer<typeof cronJobSchema>;
