/**
 * A text block of a model request that stands for a document. A model that takes documents is sent the document; every other one
 * reads the text. No entry of a history has such a block.
 */
import type { Block } from "./entry.ts";
import type { TextBlock } from "./file-block.ts";

interface BlockDocument {
  readonly mimeType: string;
  readonly name: string;
  /** In base64. */
  readonly data: string;
  readonly pages: number;
  /** The line that names the file; it stays beside the document. */
  readonly line: string;
}

/** `text`: what a model reads that takes no documents. */
export const documentBlock = (text: string, document: BlockDocument): TextBlock => ({ type: "text", text, document });

/** The document that a block stands for; undefined for any other block. */
export const documentOf = (block: Block): BlockDocument | undefined =>
  block.type === "text" ? (block.document as BlockDocument | undefined) : undefined;

/** The block as its text. */
export const withoutDocument = (block: Block): Block =>
  documentOf(block) && block.type === "text" ? { type: "text", text: block.text } : block;
