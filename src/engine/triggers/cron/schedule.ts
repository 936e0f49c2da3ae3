/**
 * The due times of a schedule. Pure: a due time is always later than the time that is passed in. Clock changes follow
 * croner's rules: a skipped fixed time runs right after the jump, a repeated one runs the first time; schedules with steps,
 * ranges or lists run through a repeated hour and skip a missing one.
 */
import { Cron } from "croner";
import { InvalidInputError, unreachable } from "../../../core/errors.ts";
import { type CronSchedule, MAX_TIME } from "../../../core/schedule/job.ts";
import { hostZone, zonedFields } from "../../../core/zoned-time.ts";

/** The first due time after `nowMs`; undefined if there is none until `MAX_TIME`. Throws `InvalidInputError`. */
export function computeNextRunAtMs(schedule: CronSchedule, nowMs: number, zone?: string): number | undefined {
  const next = nextAfter(schedule, nowMs, zone);
  return next === undefined || next > MAX_TIME ? undefined : next;
}

function nextAfter(schedule: CronSchedule, nowMs: number, zone?: string): number | undefined {
  switch (schedule.kind) {
    case "at":
      return schedule.atMs > nowMs ? schedule.atMs : undefined;
    case "every": {
      const { everyMs, anchorMs = nowMs } = schedule;
      if (nowMs < anchorMs) return anchorMs;
      return anchorMs + (Math.floor((nowMs - anchorMs) / everyMs) + 1) * everyMs;
    }
    case "cron": {
      const next = parsed(schedule.expr, schedule.tz ?? zone ?? hostZone())
        .nextRun(new Date(nowMs))
        ?.getTime();
      return next !== undefined && next > nowMs ? next : undefined;
    }
    default:
      return unreachable(schedule, "schedule");
  }
}

/** Whether whoever made the schedule chose hours of the day. An interval, or a cron expression for every hour, does not name one. */
export function namesHour(schedule: CronSchedule): boolean {
  if (schedule.kind !== "cron") return schedule.kind === "at";
  const fields = schedule.expr.trim().split(/\s+/u);
  return fields.length === 1 ? fields[0] !== "@hourly" : !fields.at(-4)?.includes("*");
}

/** The next due times, at most `count`. */
export function nextRunTimes(schedule: CronSchedule, nowMs: number, count: number, zone?: string): readonly number[] {
  const times: number[] = [];
  for (let at = nowMs; times.length < count; ) {
    const next = computeNextRunAtMs(schedule, at, zone);
    if (next === undefined) break;
    times.push(next);
    at = next;
  }
  return times;
}

/** Parsed expressions: parsing is slow, and few expressions are used often. */
const MAX_PARSED = 500;
const known = new Map<string, Cron>();

function parsed(expr: string, zone: string): Cron {
  const key = `${zone} ${expr}`;
  let cron = known.get(key);
  if (!cron) {
    cron = parse(expr, zone);
    if (known.size >= MAX_PARSED) known.clear();
    known.set(key, cron);
  }
  return cron;
}

function parse(expr: string, zone: string): Cron {
  const fields = expr.trim().split(/\s+/u).length;
  // The library also accepts dates, which are not cron expressions.
  if (fields !== 5 && fields !== 6 && !/^@\w+$/u.test(expr.trim())) throw invalid(expr);
  // Throws an error that names the wrong zone.
  zonedFields(0, zone);
  try {
    return new Cron(expr.trim(), { timezone: zone, mode: "5-or-6-parts" });
  } catch (cause) {
    throw invalid(expr, cause);
  }
}

const invalid = (expr: string, cause?: unknown): InvalidInputError =>
  new InvalidInputError(`Invalid cron schedule: ${expr}`, {
    cause,
    hint: 'Five fields (minute, hour, day of month, month, day of week), such as "0 9 * * 1-5".',
  });

/** Throws if a schedule is invalid or has no due time after `nowMs`. */
export function checkSchedule(schedule: CronSchedule, nowMs: number, zone?: string): void {
  if (computeNextRunAtMs(schedule, nowMs, zone) !== undefined) return;
  throw new InvalidInputError(
    schedule.kind === "at"
      ? `That time is in the past: ${new Date(schedule.atMs).toISOString()}.`
      : "This schedule has no due time in the future.",
    { hint: "Choose a time in the future." },
  );
}
