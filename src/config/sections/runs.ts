/** The limits of a run, what of its texts is sent, and what happens to unfinished work after a restart. */
import { flag, oneOf, section, wholeNumber } from "../values.ts";

export const runDefaults = {
  timeoutSeconds: 600,
  maxIterations: 500,
  maxConcurrent: 32,
  restore: "resume",
  blockReplyBreak: "message_end",
  enforceFinalTag: false,
} as const;

export const runsSchema = section({
  timeoutSeconds: wholeNumber(1, 604_800).default(runDefaults.timeoutSeconds),
  maxIterations: wholeNumber(1, 1_000_000).default(runDefaults.maxIterations),
  maxConcurrent: wholeNumber(1, 100_000).default(runDefaults.maxConcurrent),
  restore: oneOf(["resume", "discard"]).default(runDefaults.restore),
  blockReplyBreak: oneOf(["text_end", "message_end"]).default(runDefaults.blockReplyBreak),
  enforceFinalTag: flag().default(runDefaults.enforceFinalTag),
}).prefault({});
