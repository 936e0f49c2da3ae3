/**
 * What a message wants for its own run and for no other: a schedule's model and time limit, an API caller's system
 * message. They are committed with the run, so that a run that goes on after a crash goes on with the same ones.
 */
import { z } from "zod";

export const runOverridesSchema = z
  .object({
    /** As the agent's own override: a model's name, with its provider or without. */
    model: z.string().min(1).optional(),
    thinking: z.string().min(1).optional(),
    timeoutSeconds: z.number().positive().optional(),
    /** Said to the model behind everything the agent is told anyway. */
    extraSystemPrompt: z.string().min(1).optional(),
  })
  .readonly();
export type RunOverrides = z.infer<typeof runOverridesSchema>;
