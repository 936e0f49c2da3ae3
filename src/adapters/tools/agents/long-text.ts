/**
 * Texts too long for another agent's context go to a file; what is sent is their beginning and where the rest is. The file's
 * name says whose it is, so that nobody else can read it, and what it holds, so that the same text makes the same file.
 */
import { createHash } from "node:crypto";
import type { SessionKey } from "../../../core/ids.ts";
import type { FileStore } from "../../../core/ports/ports.ts";

const SHOWN = 1_000;

const digestOf = (text: string): string => createHash("sha256").update(text).digest("hex").slice(0, 24);

/** How the files of what was sent to an agent begin. By its address: an agent that is made only now has no id yet. */
export const filePrefix = (to: SessionKey): string => `message-${digestOf(to)}-`;

/** The text as it is sent. The same text, and the same file, however often a call is repeated. */
export async function shortened(
  files: Pick<FileStore, "write">,
  text: string,
  { maxCharacters, to }: { readonly maxCharacters: number; readonly to: SessionKey },
): Promise<string> {
  if (text.length <= maxCharacters) return text;
  const path = await files.write(`${filePrefix(to)}${digestOf(text)}.txt`, text);
  const beginning = text.slice(0, Math.min(SHOWN, maxCharacters)).toWellFormed();
  return `${beginning}\n\n[${beginning.length} of ${text.length} characters. The whole text is in ${path}; read it with read_message_file.]`;
}
