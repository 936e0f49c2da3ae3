/** The hours in which a person is not disturbed, as `22:00-07:00`. They may cross midnight. The start is included, the end is not. */
import { zonedFields } from "../zoned-time.ts";

export const QUIET_HOURS = /^(?:[01]\d|2[0-3]):[0-5]\d-(?:[01]\d|2[0-3]):[0-5]\d$/u;
export const QUIET_HOURS_EXPECTED = "hours such as 22:00-07:00";

const minutesOf = (text: string): number => Number(text.slice(0, 2)) * 60 + Number(text.slice(3, 5));

export function isQuiet(hours: string, now: number, zone: string): boolean {
  if (!QUIET_HOURS.test(hours)) return false;
  const [start, end] = [minutesOf(hours), minutesOf(hours.slice(6))];
  const { hour, minute } = zonedFields(now, zone);
  const at = hour * 60 + minute;
  return end > start ? at >= start && at < end : at >= start || at < end;
}
