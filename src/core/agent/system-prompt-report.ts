/** The parts of a system prompt with their sizes, so that a person can see what fills the context. */
import { z } from "zod";

export const systemPromptReportSchema = z.looseObject({
  /** Characters of the whole prompt. */
  chars: z.number().int(),
  parts: z.array(
    z.looseObject({
      name: z.string(),
      source: z.enum(["profile", "kind", "tools", "file", "skills", "agents", "extra"]),
      /** Characters of the part in the prompt, with its heading. */
      chars: z.number().int(),
      /** Characters of the source, if only its beginning is in the prompt. */
      cutFrom: z.number().int().optional(),
      /** Characters of the source that may enter the prompt. Absent: all. */
      limit: z.number().int().optional(),
      /** It was written while untrusted text was in context (M32). */
      untrusted: z.literal(true).optional(),
    }),
  ),
  /** Workspace files that are missing or empty. */
  missing: z.array(z.string()),
});
export type SystemPromptReport = z.infer<typeof systemPromptReportSchema>;
