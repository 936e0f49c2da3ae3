/** The time zone of the installation: its days begin and its schedules run in it. */
import { hostZone } from "../core/zoned-time.ts";
import type { Config } from "./config-schema.ts";

export const timeZoneOf = ({ session }: Pick<Config, "session">): string => session.timeZone ?? hostZone();
