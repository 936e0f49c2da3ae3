/** A cron job: creates messages at stated times. The types are clawdbot's, so that its files can be read. */
import { z } from "zod";
import { deliveryContextSchema } from "../delivery/delivery.ts";
import { runOverridesSchema } from "../message/run-overrides.ts";
import { behalfSchema } from "../people/behalf.ts";

/** The last moment that people can read as a date: the end of the year 9999. */
export const MAX_TIME = 253_402_300_799_999;
const timeSchema = z.int().min(-MAX_TIME).max(MAX_TIME);

export const cronScheduleSchema = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("at"), atMs: timeSchema }),
  z.object({ kind: z.literal("every"), everyMs: z.int().positive().max(MAX_TIME), anchorMs: timeSchema.optional() }),
  z.object({ kind: z.literal("cron"), expr: z.string().min(1), tz: z.string().optional() }),
]);
export type CronSchedule = z.infer<typeof cronScheduleSchema>;

/** The fields that a due job copies into its message are parsed as they are there: what is accepted here can be fired. */
const { model, thinking, timeoutSeconds } = runOverridesSchema.unwrap().shape;
const { channel, to } = deliveryContextSchema.unwrap().shape;

export const cronPayloadSchema = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("systemEvent"), text: z.string() }),
  z.object({
    kind: z.literal("agentTurn"),
    message: z.string(),
    model,
    thinking,
    timeoutSeconds,
    /** Whether its person gets the answer. Default: yes. */
    deliver: z.boolean().optional(),
    channel,
    to,
    bestEffortDeliver: z.boolean().optional(),
  }),
]);
export type CronPayload = z.infer<typeof cronPayloadSchema>;
/** A connector's name, or `last`: where a person last wrote to the main conversation. */
export type CronMessageChannel = NonNullable<Extract<CronPayload, { kind: "agentTurn" }>["channel"]>;

export const cronSessionTargetSchema = z.enum(["main", "isolated"]);
export type CronSessionTarget = z.infer<typeof cronSessionTargetSchema>;
export const cronWakeModeSchema = z.enum(["next-heartbeat", "now"]);
export type CronWakeMode = z.infer<typeof cronWakeModeSchema>;

/**
 * The wake mode of a job that names none: a reminder is delivered at its time (M46). A job without a delivery does not wake the main
 * conversation either.
 */
export const defaultWakeMode = (payload?: CronPayload): CronWakeMode =>
  payload?.kind === "agentTurn" && payload.deliver === false ? "next-heartbeat" : "now";

export const cronIsolationSchema = z.object({
  postToMainPrefix: z.string().optional(),
  postToMainMode: z.enum(["summary", "full"]).optional(),
  postToMainMaxChars: z.number().int().positive().optional(),
});
export type CronIsolation = z.infer<typeof cronIsolationSchema>;

/**
 * What happens with due times that were missed while no node ran. `skip`: recorded as skipped. `once`: the newest one runs,
 * late. `all`: each runs.
 */
export const missedPolicySchema = z.enum(["skip", "once", "all"]);
export type MissedPolicy = z.infer<typeof missedPolicySchema>;

/** What happens with a due time while the job's last run is still active. */
export const overlapPolicySchema = z.enum(["skip", "queue"]);
export type OverlapPolicy = z.infer<typeof overlapPolicySchema>;

/** A check before the run that needs no model. The job runs only if it passes; its output is part of the prompt. */
export const gateSchema = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("command"),
    command: z.string().min(1).max(4_096),
    cwd: z.string().min(1).optional(),
    timeoutMs: z.number().int().min(100).max(300_000).optional(),
    env: z.record(z.string(), z.string()).optional(),
  }),
  z.object({
    kind: z.literal("http"),
    url: z.url({ protocol: /^https?$/ }),
    headers: z.record(z.string(), z.string()).optional(),
    timeoutMs: z.number().int().min(100).max(300_000).optional(),
  }),
]);
export type Gate = z.infer<typeof gateSchema>;

const cronJobStateSchema = z.looseObject({
  /** The next due time that has no outcome yet. */
  nextRunAtMs: z.number().int().optional(),
  runningAtMs: z.number().int().optional(),
  lastRunAtMs: z.number().int().optional(),
  lastStatus: z.enum(["ok", "error", "skipped"]).optional(),
  lastError: z.string().optional(),
  lastDurationMs: z.number().optional(),
  /** The delivery state of the last run's answer. */
  lastDeliveryStatus: z.string().optional(),
  /** Failures since the last run that did not fail. */
  consecutiveErrors: z.number().int().optional(),
  /** How many of them stay until a delivery arrives, because the last delivery failed. */
  deliveryErrors: z.number().int().optional(),
  /** Due times before this are skipped: the last runs failed. */
  backoffUntilMs: z.number().int().optional(),
  /** Why the program itself turned the job off. */
  disabledReason: z.string().optional(),
});
export type CronJobState = z.infer<typeof cronJobStateSchema>;

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
  sessionTarget: cronSessionTargetSchema,
  wakeMode: cronWakeModeSchema,
  payload: cronPayloadSchema,
  isolation: cronIsolationSchema.optional(),
  state: cronJobStateSchema,
  /** Counts writes. A change names the version it read; another version refuses it. */
  version: z.number().int().optional(),
  /** Counts schedules: an edit that changes when the job is due begins a new one (M22). */
  revision: z.number().int().optional(),
  /** The zone in which the due times of a cron expression without one are planned. It stays the same for a revision. */
  zone: z.string().optional(),
  missed: missedPolicySchema.optional(),
  /** A due time older than this does not run. Absent: no limit. */
  maxLatenessMs: z.number().int().nonnegative().optional(),
  overlap: overlapPolicySchema.optional(),
  /** Jobs due at the same time are spread over this time, each at a fixed offset. */
  staggerMs: z.number().int().nonnegative().max(86_400_000).optional(),
  gate: gateSchema.optional(),
  /** Who it runs for, and who was on the way when it was made. Absent: the owner made it. */
  behalf: behalfSchema.optional(),
  /** The conversation for target "main": the one the job was created in. Absent: the profile's main conversation. */
  sessionKey: z.string().optional(),
  /** An isolated job runs in this agent instead of a separate one. */
  targetAgentId: z.string().optional(),
  /** The file of the job, if it has one, and its content. */
  file: z.string().optional(),
  fileHash: z.string().optional(),
  /** Notes of its agent for the next runs. */
  memory: z.string().optional(),
  /** The heartbeat's own tasks, on its row. */
  tasks: z.array(z.object({ id: z.string(), title: z.string(), prompt: z.string() })).optional(),
  /** Set on rows of the engine itself: the heartbeat's ticks. */
  system: z.enum(["heartbeat"]).optional(),
});
export type CronJob = z.infer<typeof cronJobSchema>;
