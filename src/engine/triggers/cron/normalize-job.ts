/**
 * Reads a job that a person or a model wrote. Lenient in form (wrappers, times as text, old names), strict in meaning: invalid
 * input is refused with clawdbot's texts, and an unknown key with the closest one.
 */
import { z } from "zod";
import { defined } from "../../../core/defined.ts";
import { InvalidInputError, TooLargeError } from "../../../core/errors.ts";
import { unknownKeys, unknownKeyText } from "../../../core/known-keys.ts";
import { runOverridesSchema } from "../../../core/message/run-overrides.ts";
import {
  type CronJob,
  type CronPayload,
  type CronSchedule,
  cronIsolationSchema,
  cronPayloadSchema,
  cronScheduleSchema,
  cronSessionTargetSchema,
  cronWakeModeSchema,
  gateSchema,
  missedPolicySchema,
  overlapPolicySchema,
} from "../../../core/schedule/job.ts";
import { textSize } from "../../../core/text-limits.ts";
import { timeOf } from "./read-time.ts";

const MIN_EVERY_MS = 1_000;

// Stored jobs are read with the open schemas: a newer program may have written more. Input is strict.
const [atSchema, everySchema, exprSchema] = cronScheduleSchema.options;
const [eventSchema, turnSchema] = cronPayloadSchema.options;
const [commandSchema, httpSchema] = gateSchema.options;
const scheduleInput = z.discriminatedUnion("kind", [atSchema.strict(), everySchema.strict(), exprSchema.strict()]);
const payloadInput = z.discriminatedUnion("kind", [eventSchema.strict(), turnSchema.strict()]);

const flag = z.preprocess((value) => (value === "true" ? true : value === "false" ? false : value), z.boolean());

/** Its settings for the run are those that a message may have: they become the overrides of the job's message. */
const payloadSchema = payloadInput.superRefine((payload, context) => {
  const { error } = runOverridesSchema.safeParse(payload);
  for (const { path, message } of error?.issues ?? []) context.addIssue({ code: "custom", path: [...path], message });
});

const fields = {
  name: z.string().trim().min(1, "cron job name is required"),
  description: z.string().optional(),
  agentId: z.string().trim().min(1).optional(),
  enabled: flag.optional(),
  deleteAfterRun: flag.optional(),
  schedule: scheduleInput.refine((one) => one.kind !== "every" || one.everyMs >= MIN_EVERY_MS, {
    error: `everyMs must be at least ${MIN_EVERY_MS} (one second)`,
  }),
  sessionTarget: cronSessionTargetSchema.optional(),
  wakeMode: cronWakeModeSchema.optional(),
  payload: payloadSchema,
  isolation: cronIsolationSchema.strict().optional(),
  missed: missedPolicySchema.optional(),
  maxLatenessMs: z.number().int().nonnegative().optional(),
  overlap: overlapPolicySchema.optional(),
  staggerMs: z.number().int().nonnegative().max(86_400_000).optional(),
  gate: z.discriminatedUnion("kind", [commandSchema.strict(), httpSchema.strict()]).optional(),
};

/** What times in the input are relative to. */
interface Moment {
  readonly now?: number;
  /** Of times without a zone. Default: UTC. */
  readonly zone?: string;
}

/** Of all texts of a job. Its message is posted at every due time. */
const MAX_JOB_CHARACTERS = 100_000;

export const cronJobCreateSchema = z.strictObject(fields);
export type CronJobCreate = z.infer<typeof cronJobCreateSchema>;
export const cronJobPatchSchema = z.strictObject({ ...fields, payload: z.unknown().optional() }).partial();
export type CronJobPatch = Omit<z.infer<typeof cronJobPatchSchema>, "payload"> & { payload?: CronPayload };

/** The input for a new job. Throws `InvalidInputError`. */
export function normalizeCronJobCreate(raw: unknown, moment: Moment = {}): CronJobCreate {
  const input = coerce(unwrap(raw), moment);
  if (typeof input.name !== "string" || input.name.trim() === "")
    throw new InvalidInputError("cron job name is required");
  return parse(cronJobCreateSchema, input);
}

/** The input for a change. A payload may be partial; its kind stays unless another is given. */
export function normalizeCronJobPatch(raw: unknown, job: CronJob, moment: Moment = {}): CronJobPatch {
  const { payload, ...patch } = parse(cronJobPatchSchema, coerce(unwrap(raw), moment));
  return payload === undefined ? patch : { ...patch, payload: patchPayload(payload, job.payload) };
}

function patchPayload(raw: unknown, before: CronPayload): CronPayload {
  const given = record(raw);
  const kind = given.kind ?? before.kind;
  if (kind !== before.kind && typeof given[kind === "systemEvent" ? "text" : "message"] !== "string") {
    const needs = kind === "systemEvent" ? "text" : "message";
    throw new InvalidInputError(`cron.update payload.kind="${String(kind)}" requires ${needs}`);
  }
  return parse(payloadSchema, kind === before.kind ? { ...before, ...given } : { ...given, kind });
}

/** The session target with its default. Throws if it does not fit the payload. */
export function checkedTarget(
  payload: CronPayload,
  target: CronJob["sessionTarget"] = payload.kind === "systemEvent" ? "main" : "isolated",
): CronJob["sessionTarget"] {
  if (target === "main" && payload.kind !== "systemEvent") {
    throw new InvalidInputError('main cron jobs require payload.kind="systemEvent"');
  }
  if (target === "isolated" && payload.kind !== "agentTurn") {
    throw new InvalidInputError('isolated cron jobs require payload.kind="agentTurn"');
  }
  return target;
}

/** An interval has an anchor, so that it does not drift or restart with the program. */
export const anchored = (schedule: CronSchedule, now: number): CronSchedule =>
  schedule.kind === "every" && schedule.anchorMs === undefined ? { ...schedule, anchorMs: now } : schedule;

type Loose = Record<string, unknown>;

const record = (value: unknown): Loose =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Loose) : {};

/** Models often wrap the job in another object. */
function unwrap(raw: unknown): Loose {
  const outer = record(raw);
  for (const name of ["data", "job"]) {
    const inner = record(outer[name]);
    if (Object.keys(inner).length > 0 && outer.schedule === undefined) return inner;
  }
  const { data, job, ...own } = outer;
  return own;
}

/** An object with a kind, without the fields of other kinds. A field that no kind has is refused. */
function ofKind(
  what: string,
  { options }: { readonly options: readonly z.ZodObject[] },
  aliases: readonly string[],
  raw: unknown,
  coerced: (given: Loose) => Loose,
): Loose {
  const given = record(raw);
  const known = [...options.flatMap(({ shape }) => Object.keys(shape)), ...aliases];
  const unknown = Object.keys(given).find((key) => !known.includes(key));
  if (unknown !== undefined)
    throw new InvalidInputError(`Invalid cron job: ${what}: ${unknownKeyText(unknown, known)}`);
  const value = coerced(given);
  const own = options.find(({ shape }) => shape.kind?.safeParse(value.kind).success);
  return own ? Object.fromEntries(Object.entries(value).filter(([key]) => Object.hasOwn(own.shape, key))) : value;
}

function coerce(input: Loose, moment: Moment): Loose {
  return {
    ...input,
    ...defined({
      schedule: input.schedule === undefined ? undefined : coerceSchedule(input.schedule, moment),
      payload: input.payload === undefined ? undefined : coercePayload(input.payload),
    }),
  };
}

/** Accepts `at` as text, a missing kind, and an expression as a string. */
const coerceSchedule = (raw: unknown, moment: Moment): Loose =>
  typeof raw === "string"
    ? { kind: "cron", expr: raw }
    : ofKind("schedule", cronScheduleSchema, ["at", "inMs", "anchor", "cron"], raw, (one) => withKind(one, moment));

function withKind(given: Loose, { now, zone }: Moment): Loose {
  const fromNow = typeof given.inMs === "number" && now !== undefined ? now + given.inMs : undefined;
  const at = given.atMs ?? given.at ?? fromNow;
  if (given.kind === "at" || (given.kind === undefined && at !== undefined))
    return { kind: "at", atMs: timeOf(at, zone, now) };
  if (given.kind === "every" || (given.kind === undefined && given.everyMs !== undefined)) {
    return { ...given, ...defined({ anchorMs: given.anchorMs ?? timeOf(given.anchor, zone) }), kind: "every" };
  }
  if (given.kind === undefined && given.expr !== undefined) return { ...given, kind: "cron" };
  if (given.kind === "cron" && given.expr === undefined && given.cron !== undefined)
    return { ...given, expr: given.cron };
  return given;
}

/** `provider` is the old name of `channel`. */
const coercePayload = (raw: unknown): Loose =>
  ofKind("payload", cronPayloadSchema, ["provider"], raw, ({ provider, ...given }) => {
    const channel = given.channel ?? provider;
    const kind =
      given.kind ?? (given.message !== undefined ? "agentTurn" : given.text !== undefined ? "systemEvent" : undefined);
    return {
      ...given,
      ...defined({ kind, channel: typeof channel === "string" ? channel.trim().toLowerCase() : undefined }),
    };
  });

function parse<Schema extends z.ZodType>(schema: Schema, value: unknown): z.infer<Schema> {
  const size = textSize(value);
  if (size > MAX_JOB_CHARACTERS) {
    throw new TooLargeError(`The cron job has ${size} characters; at most ${MAX_JOB_CHARACTERS} are accepted.`, {
      hint: "Put long instructions into a file of the workspace and name the file.",
    });
  }
  const result = schema.safeParse(value, { error: unknownKeys });
  if (result.success) return result.data;
  throw new InvalidInputError(`Invalid cron job: ${z.prettifyError(result.error)}`, { cause: result.error });
}
