/** What a system prompt is made of: each part with its size, so that a person can see what fills the context. */
import { z } from "zod";

export const systemPromptReportSchema = z.looseObject({
  /** Characters of the whole prompt. */
  chars: z.number().int(),
  parts: z.array(
    z.looseObject({
      name: z.string(),
      source: z.enum(["profile", "kind", "tools", "file", "agents", "extra"]),
      /** Characters of the part as it stands in the prompt, its heading included. */
      chars: z.number().int(),
      /** Characters the source has, where only its beginning is shown. */
      cutFrom: z.number().int().optional(),
    }),
  ),
  /** Workspace files that were looked for and are not there or are empty. */
  missing: z.array(z.string()),
});
export type SystemPromptReport = z.infer<typeof systemPromptReportSchema>;
