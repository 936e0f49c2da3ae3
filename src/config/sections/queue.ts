/** What happens to messages that arrive while a run is active: in general, and per channel. */
import { z } from "zod";
import { QUEUE_LIMITS, queueDropPolicySchema, queueModeSchema } from "../../core/message/queue.ts";
import { named, oneOf, section, wholeNumber } from "../values.ts";

export const queueDefaults = {
  mode: "collect",
  debounceMs: 1_000,
  cap: 20,
  drop: "summarize",
  maxWaiting: 1_000,
  dedupe: "message-id",
} as const;

const mode = () => oneOf(queueModeSchema.options as [QueueModes[0], ...QueueModes]);
const debounceMs = () => wholeNumber(...QUEUE_LIMITS.debounceMs);
const cap = () => wholeNumber(...QUEUE_LIMITS.cap);
const drop = () => oneOf(queueDropPolicySchema.options as [QueueDrops[0], ...QueueDrops]);

type QueueModes = (typeof queueModeSchema.options)[number][];
type QueueDrops = (typeof queueDropPolicySchema.options)[number][];

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
  maxWaiting: wholeNumber(1, 1_000_000).default(queueDefaults.maxWaiting),
  dedupe: oneOf(["message-id", "prompt", "none"]).default(queueDefaults.dedupe),
  byChannel: named(channelOrMode).prefault({}),
}).prefault({});
