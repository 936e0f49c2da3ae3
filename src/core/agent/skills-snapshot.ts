/**
 * The skills of a session, as its first prompt named them. Stored in the agent's state, so that neither the prompt nor the instructions
 * change until the session is reset, also over restarts. The texts are stored beside the home's data, by their hashes.
 */
import { z } from "zod";

export const skillsSnapshotSchema = z.object({
  version: z.literal(1),
  skills: z.array(
    z.object({
      name: z.string(),
      /** Its beginning. */
      description: z.string(),
      /** Characters of the description that are left out. */
      more: z.number().int().optional(),
      directory: z.string(),
      /** Of the whole `SKILL.md`. */
      hash: z.string(),
      tools: z.array(z.string()).optional(),
    }),
  ),
});
export type SkillsSnapshot = z.infer<typeof skillsSnapshotSchema>;
