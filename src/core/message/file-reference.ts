/** A file that came with a message or from a tool: its path in the file store and its type. */
import { z } from "zod";

export const fileReferenceSchema = z
  .object({
    id: z.string().min(1),
    name: z.string().min(1),
    mimeType: z.string().min(1),
    size: z.number().int().nonnegative(),
    path: z.string().min(1),
  })
  .readonly();
export type FileReference = z.infer<typeof fileReferenceSchema>;
