/** The level of the log. */
import type { LogLevel } from "../../core/ports/log.ts";
import { oneOf, section } from "../values.ts";

export const logDefaults = { level: "info" } as const;

const LEVELS = ["debug", "info", "warn", "error"] as const satisfies readonly LogLevel[];

export const logSchema = section({
  level: oneOf(LEVELS).default(logDefaults.level).describe("the lowest level that is logged"),
})
  .prefault({})
  .meta({ description: "the log", page: "operations.md" });
