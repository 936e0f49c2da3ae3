/** Whether a file that the program itself reads, for a prompt or as a task, carries the mark of untrusted text (M32). */
import { realpathSync } from "node:fs";
import { join } from "node:path";
import type { FileMarks } from "../tools/files/file-marks.ts";
import { MAX_BYTES } from "./read-workspace-file.ts";

export function isMarkedFile(marks: FileMarks, directory: string, name: string, text: string): boolean {
  if (marks.isEmpty) return false;
  try {
    const path = join(realpathSync(directory), name);
    // A text that was cut cannot be compared.
    return marks.has(path, text) || (Buffer.byteLength(text) >= MAX_BYTES && marks.knows(path));
  } catch {
    return false;
  }
}
