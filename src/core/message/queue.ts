/** What happens to a message that arrives while its agent's run is active: six modes, three drop policies. */
import { z } from "zod";

export const queueModeSchema = z.enum(["steer", "followup", "collect", "steer-backlog", "queue", "interrupt"]);
export type QueueMode = z.infer<typeof queueModeSchema>;

export const queueDropPolicySchema = z.enum(["old", "new", "summarize"]);
export type QueueDropPolicy = z.infer<typeof queueDropPolicySchema>;

/** How messages that wait together are recognised as the same. */
export const queueDedupeModeSchema = z.enum(["message-id", "prompt", "none"]);
export type QueueDedupeMode = z.infer<typeof queueDedupeModeSchema>;

export const queueSettingsSchema = z.object({
  mode: queueModeSchema,
  /** How long no message may come before the waiting ones are taken. */
  debounceMs: z.number().min(0).optional(),
  /** How many may wait. */
  cap: z.number().min(1).optional(),
  dropPolicy: queueDropPolicySchema.optional(),
});
export type QueueSettings = z.infer<typeof queueSettingsSchema>;
