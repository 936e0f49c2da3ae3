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
  timeoutSeconds: wholeNumber(1, 604_800)
    .default(runDefaults.timeoutSeconds)
    .describe("how long a run may take; a request over HTTP waits as long for its answer"),
  maxIterations: wholeNumber(1, 1_000_000)
    .default(runDefaults.maxIterations)
    .describe("how many model calls a run may make"),
  maxConcurrent: wholeNumber(1, 100_000)
    .default(runDefaults.maxConcurrent)
    .describe(
      "how many runs of conversations a node has active at once; children and nested runs get half as many places, cron jobs an eighth",
    ),
  restore: oneOf(["resume", "discard"])
    .default(runDefaults.restore)
    .describe("what a restart does with unfinished work: continue it, or end it with a notice"),
  blockReplyBreak: oneOf(["text_end", "message_end"])
    .default(runDefaults.blockReplyBreak)
    .describe(
      "what is sent of an answer: its whole text at the end, or each finished block of text as a message of its own",
    ),
  enforceFinalTag: flag()
    .default(runDefaults.enforceFinalTag)
    .describe(
      "whether only the text between `<final>` and `</final>` is sent; the model is asked to write the answer there",
    ),
})
  .prefault({})
  .meta({ description: "limits of a run, and what is sent of its answer", page: "guarantees.md" });
