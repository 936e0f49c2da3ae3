/** A file that came with a message, or goes out with a delivery. It is opened by its id. */
import { z } from "zod";

export const fileReferenceSchema = z
  .object({
    id: z.string().min(1),
    name: z.string().min(1),
    mimeType: z.string().min(1),
    size: z.number().int().nonnegative(),
    /** What the model is shown of it. Absent: its name and size. */
    as: z.enum(["image", "text", "reference"]).optional(),
    /** How long the text is that the model is shown. */
    characters: z.number().int().nonnegative().optional(),
    /** Why the model is shown nothing of it, if more could have been shown. */
    why: z.string().max(1_000).optional(),
    /** It was made of text that its person did not write (M32). */
    untrusted: z.literal(true).optional(),
    /** Only in messages of earlier versions. */
    path: z.string().min(1).optional(),
  })
  .readonly();
export type FileReference = z.infer<typeof fileReferenceSchema>;

/** Whether the file is one of the file store. Messages of earlier versions name files that are not. */
export const isStored = ({ as }: Pick<FileReference, "as">): boolean => as !== undefined;
