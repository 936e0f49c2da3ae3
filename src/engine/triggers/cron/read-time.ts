/**
 * Reads times as people write them: `10m`, `in 2 hours`, `18:30`, `tomorrow at 9am`, `friday 9:00`, `2026-01-31 09:00`. One reader
 * for the command line, tools, the API and chats. A time without a zone is one of the configured zone.
 */
import { InvalidInputError } from "../../../core/errors.ts";
import { wallInstant, zonedFields } from "../../../core/zoned-time.ts";
import { parseDuration } from "../../inbox/user-input.ts";

interface TimeMoment {
  readonly now: number;
  readonly zone: string;
}

interface LeadingTime {
  readonly at: number;
  /** The text after the time. */
  readonly rest: string;
}

/** No time is longer: `in 2 hours and 30 minutes`. */
const MAX_WORDS = 8;
const MAX_CHARACTERS = 128;

/** The time at the beginning of a text; undefined if it begins with none. */
export function leadingTime(text: string, moment: TimeMoment): LeadingTime | undefined {
  const words = [...text.slice(0, MAX_CHARACTERS).matchAll(/\S+/gu)].slice(0, MAX_WORDS);
  const said = words.map(([word]) => word.toLowerCase().replace(/[,;]$/u, ""));
  const found = waitIn(said, moment) ?? dayIn(said, moment) ?? instantIn(said, moment);
  const last = found && words[found.count - 1];
  if (!found || !last) return undefined;
  return { at: found.at, rest: text.slice(last.index + last[0].length).trim() };
}

/** A time, and how many words it has. */
type Found = { readonly at: number; readonly count: number } | undefined;

function waitIn(words: readonly string[], { now }: TimeMoment): Found {
  let at = words[0] === "in" ? 1 : 0;
  let total: number | undefined;
  for (;;) {
    const word = (words[at] ?? "").replace(/^\+/u, "");
    const joined = /[a-z]$/u.test(word) ? parseDuration(word) : undefined;
    const apart = joined === undefined ? inUnits(word, words[at + 1]) : undefined;
    const ms = joined ?? apart;
    if (ms === undefined || ms > MAX_WAIT_MS) return total === undefined ? undefined : { at: now + total, count: at };
    total = (total ?? 0) + ms;
    at += joined === undefined ? 2 : 1;
    if (words[at] === "and" && isWait(words.slice(at + 1))) at += 1;
  }
}

const isWait = ([word = "", unit]: readonly string[]): boolean =>
  (/[a-z]$/u.test(word) && parseDuration(word) !== undefined) || inUnits(word, unit) !== undefined;

const MINUTE = 60_000;
const DAY_MS = 1_440 * MINUTE;
const MAX_WAIT_MS = 100 * 366 * DAY_MS;
const UNITS: readonly (readonly [RegExp, number])[] = [
  [/^sec(?:ond)?s?$/u, 1_000],
  [/^min(?:ute)?s?$/u, MINUTE],
  [/^(?:h|hrs?|hours?)$/u, 60 * MINUTE],
  [/^days?$/u, DAY_MS],
  [/^weeks?$/u, 7 * DAY_MS],
];

function inUnits(count: string, unit = ""): number | undefined {
  const size = UNITS.find(([name]) => name.test(unit))?.[1];
  const number = count === "a" || count === "an" ? 1 : /^\d{1,6}$/u.test(count) ? Number(count) : undefined;
  return size === undefined || number === undefined ? undefined : number * size;
}

const WEEKDAYS = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];

/** A time of a day: of the day that is named, otherwise the next one. */
function dayIn(words: readonly string[], { now, zone }: TimeMoment): Found {
  const skip = words[0] === "on" || words[0] === "at" ? 1 : 0;
  const today = zonedFields(now, zone);
  const midnight = Date.UTC(today.year, today.month - 1, today.day);
  const word = words[skip] ?? "";
  const weekday = WEEKDAYS.indexOf(word);
  const date = /^\d{4}-\d{2}-\d{2}$/u.test(word) ? Date.parse(`${word}T00:00Z`) : undefined;
  const later = (weekday - WEEKDAYS.indexOf(today.weekday.toLowerCase()) + 7) % 7;
  const days = word === "today" ? 0 : word === "tomorrow" ? 1 : weekday === -1 ? undefined : later;
  const isNamed = days !== undefined || date !== undefined;
  const from = isNamed ? skip + 1 : skip;
  const clock = clockIn(words, isNamed && words[from] === "at" ? from + 1 : from);
  if (!clock || Number.isNaN(date)) return undefined;
  const day = date ?? midnight + (days ?? 0) * DAY_MS;
  const at = wallInstant(day + clock.ms, zone);
  // A time of the day that has passed is tomorrow's; a weekday is that of the next week.
  const passed = at > now ? 0 : !isNamed ? 1 : weekday === -1 ? 0 : 7;
  return { at: passed === 0 ? at : wallInstant(day + passed * DAY_MS + clock.ms, zone), count: clock.end };
}

/** `9:00`, `9am`, `9:00 pm`: milliseconds since midnight, and the place of the next word. */
function clockIn(words: readonly string[], at: number): { readonly ms: number; readonly end: number } | undefined {
  const read = /^(\d{1,2})(?::(\d{2}))?(am|pm)?$/u.exec(words[at] ?? "");
  if (!read) return undefined;
  const next = words[at + 1];
  const apart = read[3] === undefined && (next === "am" || next === "pm") ? next : undefined;
  const half = read[3] ?? apart;
  const [hour, minute] = [Number(read[1]), Number(read[2] ?? 0)];
  if ((half === undefined && read[2] === undefined) || minute > 59 || hour > (half ? 12 : 23)) return undefined;
  if (half && hour === 0) return undefined;
  const hours = half ? (hour % 12) + (half === "pm" ? 12 : 0) : hour;
  return { ms: (hours * 60 + minute) * MINUTE, end: at + (apart ? 2 : 1) };
}

/** A date and a time in one word, as ISO 8601 has them. */
function instantIn([word = ""]: readonly string[], { zone }: TimeMoment): Found {
  const isIso = /^\d{4}-\d{2}-\d{2}t\d/u.test(word);
  const at = isIso ? isoTime(word.toUpperCase(), zone) : undefined;
  return at === undefined ? undefined : { at, count: 1 };
}

/** A date with or without a time, in the zone unless it names its own. */
function isoTime(text: string, zone: string): number | undefined {
  const hasZone = /\d(?:z|[+-]\d{2}:?\d{2})$/iu.test(text) && /^\d{4}-\d{2}-\d{2}[T ]/iu.test(text);
  const dated = /^\d{4}-\d{2}-\d{2}$/u.test(text) ? `${text}T00:00` : text.replace(/^(\d{4}-\d{2}-\d{2}) /u, "$1T");
  const at = Date.parse(hasZone ? text : `${dated}Z`);
  if (Number.isNaN(at)) return undefined;
  return hasZone ? at : wallInstant(at, zone);
}

/** Milliseconds, or a time as text. Without `now` only a date. Another value is returned as it is. */
export function timeOf(value: unknown, zone = "UTC", now?: number): unknown {
  if (typeof value !== "string") return value;
  const text = value.trim();
  if (/^\d+$/u.test(text)) return Number(text);
  const said = now === undefined ? undefined : leadingTime(text, { now, zone });
  const at = said?.rest === "" ? said.at : isoTime(text, zone);
  if (at !== undefined) return at;
  throw new InvalidInputError(`"${value}" is not a time.`, {
    hint: `Write it as 10m, tomorrow 9:00, 2026-01-31T09:00 (in ${zone}) or 2026-01-31T09:00:00Z.`,
  });
}
