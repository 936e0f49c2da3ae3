/** When a process that does not respond is ended, so that it can start again (M34). */
import { section, wholeNumber } from "../values.ts";

export const watchdogDefaults = { blockedSeconds: 20, drainSeconds: 30 } as const;

export const watchdogSchema = section({
  /** How long the event loop may stand still. 0: without a limit. */
  blockedSeconds: wholeNumber(0, 300).default(watchdogDefaults.blockedSeconds),
  /** How long a stop may take. */
  drainSeconds: wholeNumber(2, 600).default(watchdogDefaults.drainSeconds),
}).prefault({});
