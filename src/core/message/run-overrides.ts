/**
 * The overrides of one message for its own run: a schedule's model and time limit, an API caller's system message. They are
 * committed with the run, so that a run resumed after a crash keeps them.
 */
import { z } from "zod";

export const runOverridesSchema = z
  .object({
    /** A model's name, with or without its provider, as in the agent's own override. */
    model: z.string().min(1).optional(),
    thinking: z.string().min(1).optional(),
    timeoutSeconds: z.number().positive().optional(),
    temperature: z.number().min(0).max(2).optional(),
    /** Appended to the agent's system prompt. */
    extraSystemPrompt: z.string().min(1).optional(),
  })
  .readonly();
export type RunOverrides = z.infer<typeof runOverridesSchema>;
