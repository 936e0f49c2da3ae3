/**
 * A text block that stands for a file. Its text names the file, so that every reader of a history understands it; a model is
 * shown the file itself in its place.
 */
import { z } from "zod";
import type { FileReference } from "../file-reference.ts";
import type { Block } from "./entry.ts";

const blockFileSchema = z.object({
  id: z.string().min(1),
  as: z.enum(["image", "text", "reference"]),
  /** How long the text is that the model is shown. */
  characters: z.number().int().nonnegative().optional(),
});
export type BlockFile = z.infer<typeof blockFileSchema>;
export type TextBlock = Extract<Block, { type: "text" }>;

/** `text` names the file. */
export function fileBlock(text: string, { id, as = "reference", characters }: FileReference): TextBlock {
  return { type: "text", text, file: { id, as, characters } };
}

/** The file that a block stands for; undefined for any other block. */
export function fileOf(block: Block): BlockFile | undefined {
  if (block.type !== "text" || block.file === undefined) return undefined;
  return blockFileSchema.safeParse(block.file).data;
}
