/** The limits of a run, and what happens to unfinished work after a restart. */
import { oneOf, section, wholeNumber } from "../values.ts";

export const runDefaults = { timeoutSeconds: 600, maxIterations: 500, restore: "resume" } as const;

export const runsSchema = section({
  timeoutSeconds: wholeNumber(1, 604_800).default(runDefaults.timeoutSeconds),
  maxIterations: wholeNumber(1, 1_000_000).default(runDefaults.maxIterations),
  restore: oneOf(["resume", "discard"]).default(runDefaults.restore),
}).prefault({});
