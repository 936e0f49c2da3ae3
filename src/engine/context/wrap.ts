/**
 * How texts of different origin look to the model. Only the engine writes the tag of a system message: text from outside is
 * escaped, so that the tag cannot be forged.
 */
import type { FileReference } from "../../core/message/file-reference.ts";

/** Escapes everything in a text that reads like the tag, in any case or spacing. */
export const escapeTags = (text: string): string => text.replace(/<(?=[\s/]*system_message)/giu, "&lt;");

const attribute = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

/** A message from an agent or from the system itself. `origin` comes from the store, never from text. */
export function wrapSystemMessage(text: string, origin?: string): string {
  const from = origin === undefined ? "" : ` origin="${attribute(origin)}"`;
  return `<system_message${from}>${escapeTags(text)}</system_message>`;
}

/** Names and types come from outside too; a line break in one would pass for another line. */
const onOneLine = (text: string): string => escapeTags(text.replace(/[\r\n\u2028\u2029]+/gu, " "));

export const fileLine = (file: FileReference): string =>
  `File received: ${onOneLine(file.name)} (${onOneLine(file.mimeType)}, ${file.size} bytes)`;

/** What a person wrote, with a line for each file. */
export function wrapUserMessage(text: string, files: readonly FileReference[] = []): string {
  return [escapeTags(text), ...files.map(fileLine)].filter((line) => line !== "").join("\n");
}
