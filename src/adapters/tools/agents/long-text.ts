/**
 * A text that is too long for another agent's context goes into a file; the message contains its beginning and the path. The
 * file's name contains its recipient, so that only the recipient can read it, and a digest, so that the same text makes the
 * same file.
 */
import { createHash } from "node:crypto";
import type { SessionKey } from "../../../core/ids.ts";
import type { FileStore } from "../../../core/ports/ports.ts";

const SHOWN_CHARACTERS = 1_000;

const digestOf = (text: string): string => createHash("sha256").update(text).digest("hex").slice(0, 24);

/** The prefix of all files for a recipient. Made from the session key, because a new agent has no id yet. */
export const filePrefix = (to: SessionKey): string => `message-${digestOf(to)}-`;

interface LongText {
  readonly maxCharacters: number;
  readonly to: SessionKey;
  /** Its reader gets the mark (M32). */
  readonly untrusted?: boolean;
}

/** Part of the name, so that the mark is there whenever the file is. */
const MARK = "untrusted-";

export const isMarkedName = (name: string, to: SessionKey): boolean => name.startsWith(`${filePrefix(to)}${MARK}`);

/** The text to send. A repeated call returns the same text and writes the same file. */
export async function shortened(
  files: Pick<FileStore, "write">,
  text: string,
  { maxCharacters, to, untrusted = false }: LongText,
): Promise<string> {
  if (text.length <= maxCharacters) return text;
  const mark = untrusted ? MARK : "";
  const path = await files.write(`${filePrefix(to)}${mark}${digestOf(text)}.txt`, text);
  const beginning = text.slice(0, Math.min(SHOWN_CHARACTERS, maxCharacters)).toWellFormed();
  return `${beginning}\n\n[${beginning.length} of ${text.length} characters. The whole text is in ${path}; read it with read_message_file.]`;
}
