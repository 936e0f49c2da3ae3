/** The defaults of cron jobs. */
import { flag, oneOf, section, wholeNumber } from "../values.ts";

export const cronDefaults = { enabled: true, missed: "once", missedGraceSeconds: 60, commandGates: false } as const;

export const cronSchema = section({
  /** Whether due times become messages in this process. */
  enabled: flag().default(cronDefaults.enabled),
  missed: oneOf(["skip", "once", "all"]).default(cronDefaults.missed),
  /** A due time that is handled this late still counts as on time. */
  missedGraceSeconds: wholeNumber(0, 86_400).default(cronDefaults.missedGraceSeconds),
  maxLatenessMinutes: wholeNumber(0, 5_256_000).optional(),
  commandGates: flag().default(cronDefaults.commandGates),
}).prefault({});
