/** Whether a note was written while untrusted text was in context, and has not been changed by other means since (M32). */
import { realpathSync } from "node:fs";
import { join } from "node:path";
import { readNote } from "../../search/note-files.ts";
import type { FileMarks } from "../files/file-marks.ts";

export function isMarkedNote(marks: FileMarks, directory: string, path: string): boolean {
  if (marks.isEmpty) return false;
  try {
    const real = join(realpathSync(directory), path);
    // A running command may have removed it: what is shown then is the note as it was.
    if (marks.knows(real)) return true;
    const text = readNote(directory, path);
    return text !== undefined && marks.has(real, text);
  } catch {
    return false;
  }
}
