/** The defaults of cron jobs. */
import { flag, oneOf, section } from "../values.ts";

export const cronDefaults = { enabled: true, missed: "once", commandGates: false } as const;

export const cronSchema = section({
  /** Whether due times become messages in this process. */
  enabled: flag().default(cronDefaults.enabled),
  missed: oneOf(["skip", "once", "all"]).default(cronDefaults.missed),
  commandGates: flag().default(cronDefaults.commandGates),
}).prefault({});
