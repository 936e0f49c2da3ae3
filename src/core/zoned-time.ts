/** Converts between wall-clock time in a named zone and instants. Pure: the zone is an argument, the platform has its rules. */
import { InvalidInputError } from "./errors.ts";

export interface ZonedFields {
  readonly year: number;
  readonly month: number;
  readonly day: number;
  readonly hour: number;
  readonly minute: number;
  readonly second: number;
  readonly weekday: string;
}

let host: string | undefined;

/** The zone of the machine. Read late, because the first use of zones loads their tables. */
export function hostZone(): string {
  host ??= Intl.DateTimeFormat().resolvedOptions().timeZone;
  return host;
}

const formats = new Map<string, Intl.DateTimeFormat>();

function formatFor(zone: string): Intl.DateTimeFormat {
  let format = formats.get(zone);
  if (!format) {
    try {
      format = new Intl.DateTimeFormat("en-US-u-ca-gregory-nu-latn", {
        timeZone: zone,
        hourCycle: "h23",
        weekday: "long",
        ...{ year: "numeric", month: "numeric", day: "numeric" },
        ...{ hour: "numeric", minute: "numeric", second: "numeric" },
      });
    } catch (cause) {
      throw new InvalidInputError(`Unknown time zone "${zone}".`, {
        cause,
        hint: 'Zones have names such as "Europe/Berlin" or "UTC".',
      });
    }
    formats.set(zone, format);
  }
  return format;
}

/** The wall-clock time in a zone at an instant. */
export function zonedFields(at: number, zone: string): ZonedFields {
  const parts = new Map(
    formatFor(zone)
      .formatToParts(at)
      .map(({ type, value }) => [type, value]),
  );
  const number = (type: Intl.DateTimeFormatPartTypes): number => Number(parts.get(type));
  return {
    year: number("year"),
    month: number("month"),
    day: number("day"),
    hour: number("hour"),
    minute: number("minute"),
    second: number("second"),
    weekday: parts.get("weekday") ?? "",
  };
}

const DAY_MS = 24 * 3_600_000;

/** How far a zone is ahead of UTC at an instant. */
function offsetAt(at: number, zone: string): number {
  const { year, month, day, hour, minute, second } = zonedFields(at, zone);
  return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(at / 1000) * 1000;
}

/**
 * The instant at which a clock shows a full hour of a day. If the hour comes twice, the first one; if it is skipped, the
 * moment of the jump. `day` may lie outside of its month (0 is the day before the first).
 */
export function zonedInstant(year: number, month: number, day: number, hour: number, zone: string): number {
  const asUtc = Date.UTC(year, month - 1, day, hour);
  const before = asUtc - offsetAt(asUtc - DAY_MS, zone);
  const after = asUtc - offsetAt(asUtc + DAY_MS, zone);
  const shows = (at: number): boolean => at + offsetAt(at, zone) === asUtc;
  const found = [before, after].filter(shows);
  return found.length > 0 ? Math.min(...found) : before;
}
