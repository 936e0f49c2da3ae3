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
    /**
     * Tools that the caller executes: a call of one ends the run, and the caller sends its result with a later message. In this run
     * one takes the place of a tool of the agent with the same name.
     */
    tools: z
      .array(
        z.object({ name: z.string().min(1), description: z.string(), parameters: z.record(z.string(), z.unknown()) }),
      )
      .optional(),
  })
  .readonly();
export type RunOverrides = z.infer<typeof runOverridesSchema>;
