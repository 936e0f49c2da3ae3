/** Cron jobs and heartbeats on the wire. */
import { z } from "zod";
import { deliveryStateSchema } from "../../../core/delivery/delivery.ts";
import { cronJobSchema, cronScheduleSchema } from "../../../core/schedule/job.ts";

const slotEndSchema = z
  .strictObject({
    at: z.number(),
    status: z
      .enum(["aborted", "dropped", "error", "lost", "ok", "recorded", "timeout"])
      .describe(
        "`recorded`: a silent message that entered its conversation without a run. `dropped`: settled without a run.",
      ),
    error: z.string().optional(),
    agentId: z.string().optional(),
    runId: z.string().optional(),
    startedAt: z.number().optional(),
    durationMs: z.number().optional(),
    summary: z.string().optional(),
    delivery: z
      .strictObject({
        status: z.enum(["failed", "none", "owed", "sent", "suppressed", "unconfirmed", "unroutable"]),
        reason: z.string().optional(),
      })
      .describe(
        "`none`: nothing to send. `owed`: until the outbox has the result. `unroutable`: until there is a route.",
      ),
    deliveryIds: z.array(z.string()).optional(),
    cost: z.number().optional(),
  })
  .meta({ id: "SlotEnd" });

export const jobOutcomeSchema = z
  .strictObject({
    deliveries: z.array(z.strictObject({ id: z.string(), state: deliveryStateSchema, reason: z.string().optional() })),
    jobId: z.string(),
    slot: z.string().describe("Unique within the job: `{revision}@{due}`, `manual@{id}`, a hook's idempotency key."),
    revision: z.number(),
    dueAt: z.number().describe("The due time, or the first of a range."),
    untilAt: z.number().optional().describe("The last due time of a range."),
    count: z.number().describe("How many due times this row stands for."),
    status: z.enum(["fired", "skipped"]),
    reason: z.string().optional().describe("Why it was skipped."),
    at: z.number().describe("When the row was written."),
    end: slotEndSchema.optional().describe("The result of the slot, once its message has ended."),
    n: z.number(),
  })
  .meta({ id: "JobOutcome" });

export const scheduledJobSchema = cronJobSchema
  .extend({
    schedule: z.union([
      cronScheduleSchema,
      z.looseObject({ kind: z.string() }).describe("A schedule of another program that cannot be read."),
    ]),
    when: z.string().describe("Its schedule as a sentence."),
    nextTimes: z.array(z.strictObject({ atMs: z.number(), text: z.string() })),
  })
  .meta({ id: "ScheduledJob" });

const jobSlotSchema = z
  .strictObject({
    jobId: z.string(),
    slot: z.string().describe("Unique within the job: `{revision}@{due}`, `manual@{id}`, a hook's idempotency key."),
    revision: z.number(),
    dueAt: z.number().describe("The due time, or the first of a range."),
    untilAt: z.number().optional().describe("The last due time of a range."),
    count: z.number().describe("How many due times this row stands for."),
    status: z.enum(["fired", "skipped"]),
    reason: z.string().optional().describe("Why it was skipped."),
    at: z.number().describe("When the row was written."),
    end: slotEndSchema.optional().describe("The result of the slot, once its message has ended."),
  })
  .meta({ id: "JobSlot" });

export const heartbeatSchema = z
  .strictObject({
    profile: z.string(),
    nextDueMs: z.number().optional(),
    lastRunMs: z.number().optional(),
    ticks: z.array(jobSlotSchema.extend({ n: z.number() })).describe("The latest slots, newest first."),
    enabled: z.boolean(),
    every: z.string(),
    everyMs: z.number().nullable(),
    prompt: z.string(),
    target: z.string(),
    model: z.string().optional(),
    ackMaxChars: z.number(),
  })
  .meta({ id: "Heartbeat" });
