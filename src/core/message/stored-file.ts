/**
 * A file as the store knows it: whose it is, what it is by its content, and which bytes the model is shown. The bytes are blobs of
 * the file store; a blob is durable before a row names it, and its name is never used again for other bytes.
 */
import { z } from "zod";
import type { FileReference } from "../file-reference.ts";
import { behalfSchema, isUntrusted } from "../people/behalf.ts";

/** What the model gets of a file, decided once when it is stored, so that a prompt never changes later (L11). */
const shownFileSchema = z.discriminatedUnion("as", [
  z.object({ as: z.literal("image"), blob: z.string().min(1), mimeType: z.string().min(1) }).readonly(),
  z
    .object({
      as: z.literal("text"),
      blob: z.string().min(1),
      characters: z.number().int().nonnegative(),
      /** What the text is of the file, if it is not the file itself. */
      of: z.enum(["pdf", "transcript"]).optional(),
      /** The file has more text than this. */
      cut: z.literal(true).optional(),
      /** Of a PDF that can be read: a model that takes documents is shown the file itself. */
      pages: z.number().int().positive().optional(),
    })
    .readonly(),
  z
    .object({
      as: z.literal("reference"),
      why: z.string().optional(),
      /** Of a PDF without text. */
      pages: z.number().int().positive().optional(),
    })
    .readonly(),
]);
export type ShownFile = z.infer<typeof shownFileSchema>;

export const storedFileSchema = z
  .object({
    id: z.string().min(1),
    /** SHA-256 of the content, in hexadecimal digits. */
    sha: z.string().length(64),
    name: z.string().min(1),
    /** Found from the content, not from the name. */
    mimeType: z.string().min(1),
    size: z.number().int().nonnegative(),
    blob: z.string().min(1),
    behalf: behalfSchema,
    createdAt: z.number().int(),
    shown: shownFileSchema,
  })
  .readonly();
export type StoredFile = z.infer<typeof storedFileSchema>;

/** A file as messages, entries and deliveries name it. */
export function referenceTo({ id, name, mimeType, size, shown, behalf }: StoredFile): FileReference {
  const characters = shown.as === "text" ? shown.characters : undefined;
  const why = shown.as === "reference" ? shown.why : undefined;
  return { id, name, mimeType, size, as: shown.as, characters, why, untrusted: isUntrusted(behalf) || undefined };
}
