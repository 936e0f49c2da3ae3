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
  mode: mode().default(queueDefaults.mode).describe("how a message that arrives during a run is handled"),
  debounceMs: debounceMs()
    .default(queueDefaults.debounceMs)
    .describe("how many milliseconds to wait for further messages before they are taken, in `collect` and `followup`"),
  cap: cap().default(queueDefaults.cap).describe("how many messages of a chat may wait before some are dropped"),
  drop: drop()
    .default(queueDefaults.drop)
    .describe("which are dropped: the oldest, the newest, or the oldest with a line each in the prompt"),
  maxWaiting: wholeNumber(1, 1_000_000)
    .default(queueDefaults.maxWaiting)
    .describe("how many messages may wait at an agent before those of programs are refused"),
  dedupe: oneOf(["message-id", "prompt", "none"])
    .default(queueDefaults.dedupe)
    .describe("how duplicates among waiting messages are found; `prompt`: by text if there is no id"),
  byChannel: named(channelOrMode).prefault({}).meta({
    description: 'the same for one channel; `telegram: "steer"` is short for `{ mode: "steer" }`',
    as: "queue",
  }),
})
  .prefault({})
  .meta({ description: "what happens to messages that arrive during a run", page: "queues.md" });
