/** The origin of a message that no person or agent sent: a cron job, the heartbeat, a webhook. Stored with the message and its run. */
import { z } from "zod";

export const triggerSchema = z.object({
  type: z.enum(["cron", "heartbeat", "webhook"]),
  /** The job's id, or the hook's name. */
  id: z.string(),
  /** The slot this message closes (M22). */
  slot: z.string().optional(),
  /** Its person named the hour of this slot, and it is on time: quiet hours do not hold what follows (M46). */
  onNamedTime: z.literal(true).optional(),
});
export type Trigger = z.infer<typeof triggerSchema>;
