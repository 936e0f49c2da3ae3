/** Converts between wall-clock time in a named zone and instants. Pure: the zone is an argument, the platform has its rules. */
import { closestWord } from "./closest-word.ts";
import { InvalidInputError } from "./errors.ts";

interface ZonedFields {
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

/** The zone that was probably meant, as the beginning of a hint. */
function meant(zone: string): string {
  const names = Intl.supportedValuesOf("timeZone");
  const wanted = zone.replaceAll(" ", "_");
  const near =
    closestWord(wanted, names) ?? names.find((name) => name.toLowerCase().endsWith(`/${wanted.toLowerCase()}`));
  return near === undefined ? "" : `Did you mean "${near}"? `;
}

/** Throws `InvalidInputError` with the closest name if the platform does not know the zone. */
export function assertZone(zone: string): void {
  // A list of names is made much faster than a format. It lacks other names of zones, which a format knows.
  zones ??= new Set([...Intl.supportedValuesOf("timeZone"), "UTC"]);
  if (!zones.has(zone)) formatFor(zone);
}

let zones: ReadonlySet<string> | undefined;

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
        hint: `${meant(zone)}Zones have names such as "Europe/Berlin" or "UTC".`,
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
export const zonedInstant = (year: number, month: number, day: number, hour: number, zone: string): number =>
  wallInstant(Date.UTC(year, month - 1, day, hour), zone);

/** The instant at which a clock in the zone shows what a clock in UTC shows at `asUtc`, by the same rules. */
export function wallInstant(asUtc: number, zone: string): number {
  const before = asUtc - offsetAt(asUtc - DAY_MS, zone);
  const after = asUtc - offsetAt(asUtc + DAY_MS, zone);
  const shows = (at: number): boolean => at + offsetAt(at, zone) === asUtc;
  const found = [before, after].filter(shows);
  return found.length > 0 ? Math.min(...found) : before;
}

/** The first instant of the day that `at` lies in. */
export function startOfDay(at: number, timeZone: string): number {
  const { year, month, day } = zonedFields(at, timeZone);
  return zonedInstant(year, month, day, 0, timeZone);
}
