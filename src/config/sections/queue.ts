/** What happens to messages that arrive while a run is active: in general, and per channel. */
import { z } from "zod";
import { queueModeSchema } from "../../core/message/queue.ts";
import { named, oneOf, section, wholeNumber } from "../values.ts";

export const queueDefaults = {
  mode: "collect",
  debounceMs: 1_000,
  cap: 20,
  drop: "summarize",
  dedupe: "message-id",
} as const;

const mode = () => oneOf(queueModeSchema.options as [QueueModes[0], ...QueueModes]);
const debounceMs = () => wholeNumber(0, 3_600_000);
const cap = () => wholeNumber(1, 10_000);
const drop = () => oneOf(["old", "new", "summarize"]);

type QueueModes = (typeof queueModeSchema.options)[number][];

const channelSchema = section({
  mode: mode().optional(),
  debounceMs: debounceMs().optional(),
  cap: cap().optional(),
  drop: drop().optional(),
});

/** A mode alone is short for `{ mode }`. */
const channelOrMode = z.preprocess((value) => (typeof value === "string" ? { mode: value } : value), channelSchema);

export const queueSchema = section({
  mode: mode().default(queueDefaults.mode),
  debounceMs: debounceMs().default(queueDefaults.debounceMs),
  cap: cap().default(queueDefaults.cap),
  drop: drop().default(queueDefaults.drop),
  dedupe: oneOf(["message-id", "prompt", "none"]).default(queueDefaults.dedupe),
  byChannel: named(channelOrMode).prefault({}),
}).prefault({});
