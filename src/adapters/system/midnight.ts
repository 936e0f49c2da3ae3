/**
 * When the day began. In the zone of this machine it needs no formats of dates, whose first use takes longer than most commands run.
 */
import { existsSync, readlinkSync } from "node:fs";
import { startOfDay } from "../../core/zoned-time.ts";

const LINK = "/etc/localtime";

/** `zone` undefined: that of this machine. */
export function midnightBefore(now: number, zone: string | undefined, env = process.env): number {
  return zone === undefined || zone === machineZone(env) ? new Date(now).setHours(0, 0, 0, 0) : startOfDay(now, zone);
}

/** Undefined if only the formats know it. */
function machineZone({ TZ }: NodeJS.ProcessEnv): string | undefined {
  if (TZ) return TZ;
  if (!existsSync(LINK)) return "UTC";
  try {
    const [, name] = readlinkSync(LINK).split("/zoneinfo/");
    return name === "Etc/UTC" ? "UTC" : name;
  } catch {
    return undefined;
  }
}
