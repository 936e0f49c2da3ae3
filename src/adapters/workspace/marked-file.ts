/** Whether a file that the program itself reads, for a prompt or as a task, carries the mark of untrusted text (M32). */
import { realpathSync } from "node:fs";
import { join } from "node:path";
import type { FileMarks } from "../tools/files/file-marks.ts";
import { MAX_BYTES } from "./read-workspace-file.ts";

export function isMarkedFile(marks: FileMarks, directory: string, name: string, text: string): boolean {
  if (marks.isEmpty) return false;
  try {
    const path = join(realpathSync(directory), name);
    return marks.has(path, text) || (!isWhole(text) && marks.knows(path));
  } catch {
    return false;
  }
}

/** A text that was cut, or whose bytes are not all text, is not what the mark names: it cannot be compared. */
const isWhole = (text: string): boolean => Buffer.byteLength(text) < MAX_BYTES && !text.includes("\uFFFD");
