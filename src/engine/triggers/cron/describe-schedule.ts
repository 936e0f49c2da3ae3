/** A schedule as a sentence: "Every 30 minutes", "At 09:00 on Monday to Friday (Europe/Berlin)". */
import { unreachable } from "../../../core/errors.ts";
import type { CronSchedule } from "../../../core/schedule/job.ts";
import { hostZone, zonedFields } from "../../../core/zoned-time.ts";

export function describeSchedule(schedule: CronSchedule, zone = hostZone()): string {
  switch (schedule.kind) {
    case "at":
      return `Once, on ${wallTime(schedule.atMs, zone)}`;
    case "every":
      return `Every ${durationText(schedule.everyMs)}`;
    case "cron":
      return `${sentence(schedule.expr.trim())} (${schedule.tz ?? zone})`;
    default:
      return unreachable(schedule, "schedule");
  }
}

const two = (value: number): string => String(value).padStart(2, "0");

/** `2026-01-05 09:00:00 (Europe/Berlin)`. */
export function wallTime(at: number, zone: string): string {
  const { year, month, day, hour, minute, second } = zonedFields(at, zone);
  return `${year}-${two(month)}-${two(day)} ${two(hour)}:${two(minute)}:${two(second)} (${zone})`;
}

const UNITS: readonly (readonly [number, string])[] = [
  [604_800_000, "week"],
  [86_400_000, "day"],
  [3_600_000, "hour"],
  [60_000, "minute"],
  [1_000, "second"],
  [1, "millisecond"],
];

function durationText(ms: number): string {
  const [unit, name] = UNITS.find(([size]) => ms % size === 0 && ms >= size) ?? [1, "millisecond"];
  const count = ms / unit;
  return count === 1 ? name : `${count} ${name}s`;
}

const NICKNAMES: Readonly<Record<string, string>> = {
  "@yearly": "0 0 1 1 *",
  "@annually": "0 0 1 1 *",
  "@monthly": "0 0 1 * *",
  "@weekly": "0 0 * * 0",
  "@daily": "0 0 * * *",
  "@midnight": "0 0 * * *",
  "@hourly": "0 * * * *",
};
const DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
const MONTHS = [
  "",
  ...["January", "February", "March", "April", "May", "June", "July"],
  ...["August", "September", "October", "November", "December"],
];
const NUMBER = /^\d+$/u;

/** A complicated expression is quoted unchanged. */
function sentence(expr: string): string {
  const fields = (NICKNAMES[expr.toLowerCase()] ?? expr).split(/\s+/u);
  const [second = "0", minute = "*", hour = "*", day = "*", month = "*", weekday = "*"] =
    fields.length === 6 ? fields : ["0", ...fields];
  const time = timeOf(second, minute, hour);
  const days = daysOf(day, weekday);
  const months = month === "*" ? "" : list(month, (text) => MONTHS[Number(text)] ?? text);
  if (time === undefined || days === undefined || months === undefined) return `By the cron expression "${expr}"`;
  return `${time}${days}${months === "" ? "" : ` in ${months}`}`;
}

function timeOf(second: string, minute: string, hour: string): string | undefined {
  const step = (field: string): string | undefined => /^\*\/(\d+)$/u.exec(field)?.[1];
  if (minute === "*" && hour === "*") {
    if (second === "0") return "Every minute";
    if (second === "*") return "Every second";
    return step(second) ? `Every ${step(second)} seconds` : undefined;
  }
  if (second !== "0") return undefined;
  if (step(minute) && hour === "*") return `Every ${step(minute)} minutes`;
  if (!NUMBER.test(minute)) {
    const every = minute === "*" ? "Every minute" : step(minute) && `Every ${step(minute)} minutes`;
    const hours = list(hour, (text) => `${two(Number(text))}:00`);
    return every && hours ? `${every} in the hours ${hours}` : undefined;
  }
  if (hour === "*") return `At minute ${Number(minute)} of every hour`;
  if (step(hour)) return `At minute ${Number(minute)} of every ${step(hour)}th hour`;
  const hours = list(hour, (text) => `${two(Number(text))}:${two(Number(minute))}`);
  return hours && `At ${hours}`;
}

function daysOf(day: string, weekday: string): string | undefined {
  const any = (field: string): boolean => field === "*" || field === "?";
  const weekdays = any(weekday) ? "" : list(weekday, (text) => DAYS[Number(text)] ?? text);
  const days = any(day) ? "" : day === "L" ? "the last day of the month" : list(day, (text) => `day ${Number(text)}`);
  if (weekdays === undefined || days === undefined) return undefined;
  if (days === "" && weekdays === "") return "";
  return ` on ${[days, weekdays].filter((part) => part !== "").join(" or ")}`;
}

/** `1-5` → "Monday to Friday", `1,3` → "Monday and Wednesday"; undefined for anything else. */
function list(field: string, name: (text: string) => string): string | undefined {
  const parts = field.split(",").map((part) => {
    const [from, to, more] = part.split("-");
    if (more !== undefined || !NUMBER.test(from ?? "") || (to !== undefined && !NUMBER.test(to))) return undefined;
    return to === undefined ? name(from as string) : `${name(from as string)} to ${name(to)}`;
  });
  if (parts.some((part) => part === undefined)) return undefined;
  return parts.length === 1 ? parts[0] : `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}`;
}
