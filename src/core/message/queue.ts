/** What happens to a message that arrives while its agent's run is active: six modes, three drop policies. */
import { z } from "zod";

export const queueModeSchema = z.enum(["steer", "followup", "collect", "steer-backlog", "queue", "interrupt"]);
export type QueueMode = z.infer<typeof queueModeSchema>;

export const queueDropPolicySchema = z.enum(["old", "new", "summarize"]);
export type QueueDropPolicy = z.infer<typeof queueDropPolicySchema>;

/** How messages that wait together are recognised as the same. */
const queueDedupeModeSchema = z.enum(["message-id", "prompt", "none"]);
export type QueueDedupeMode = z.infer<typeof queueDedupeModeSchema>;

/** The limits of the settings that are numbers, for every way to set them: commands, routes, configuration and state. */
export const QUEUE_LIMITS = { debounceMs: [0, 3_600_000], cap: [1, 10_000] } as const;

const within = ([min, max]: readonly [number, number]) => {
  const error = `expected a whole number from ${min} to ${max}`;
  return z.int({ error }).min(min, error).max(max, error);
};
export const queueDebounceSchema = within(QUEUE_LIMITS.debounceMs);
export const queueCapSchema = within(QUEUE_LIMITS.cap);

export const queueSettingsSchema = z.object({
  mode: queueModeSchema,
  /** How long no message may come before the waiting ones are taken. */
  debounceMs: queueDebounceSchema.optional(),
  /** How many may wait. */
  cap: queueCapSchema.optional(),
  dropPolicy: queueDropPolicySchema.optional(),
});
export type QueueSettings = z.infer<typeof queueSettingsSchema>;

/** A cap that no queue reaches: messages with it are neither counted nor dropped. */
export const UNCAPPED = Number.MAX_SAFE_INTEGER;

/** Settings that the channel or the program sends with a message. Only these may be without a cap. */
export const queueDefaultSchema = queueSettingsSchema.partial().extend({ cap: z.int().min(1).optional() });

/** Each message gets a run of its own, in order, and none is dropped. */
export const ONE_RUN_EACH = { mode: "queue", cap: UNCAPPED } as const satisfies Partial<QueueSettings>;
