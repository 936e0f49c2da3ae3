/** Whether a time is within the heartbeat's active hours. The start is included, the end is not. */
import { zonedFields } from "../../../core/zoned-time.ts";
import type { HeartbeatConfig } from "./heartbeat-config.ts";

export interface Zones {
  /** The person's zone. Absent: the machine's. */
  readonly user?: string;
  readonly host: string;
}

/** Hours may cross midnight. Equal or invalid hours mean always. */
export function isWithinActiveHours(hours: HeartbeatConfig["activeHours"], nowMs: number, zones: Zones): boolean {
  if (!hours) return true;
  const start = minutesOf(hours.start ?? "00:00");
  const end = minutesOf(hours.end ?? "24:00");
  if (start === undefined || end === undefined || start === end || start === 24 * 60) return true;
  const { hour, minute } = zonedFields(nowMs, zoneFor(hours.timezone, zones));
  const now = hour * 60 + minute;
  return end > start ? now >= start && now < end : now >= start || now < end;
}

function minutesOf(text: string): number | undefined {
  const found = /^(\d{2}):(\d{2})$/u.exec(text.trim());
  const minutes = found ? Number(found[1]) * 60 + Number(found[2]) : Number.NaN;
  return found && Number(found[2]) < 60 && minutes <= 24 * 60 ? minutes : undefined;
}

/** `user`, `local`, or a zone's name. An unknown name means the person's zone. */
function zoneFor(timezone: string | undefined, { user, host }: Zones): string {
  const wanted = timezone?.trim() || "user";
  if (wanted === "local") return host;
  if (wanted === "user") return user ?? host;
  try {
    zonedFields(0, wanted);
    return wanted;
  } catch {
    return user ?? host;
  }
}
