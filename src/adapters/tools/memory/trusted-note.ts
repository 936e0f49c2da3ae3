/** The text of a note as it counts: what a running command has put in its place is not read. */
import { join } from "node:path";
import { readNote } from "../../search/note-files.ts";
import { noGuard, type TrustedFiles } from "../files/prompt-guard.ts";

/** Undefined if there is no such note. */
export function trustedNote(
  guard: Pick<TrustedFiles, "of"> = noGuard,
  directory: string,
  path: string,
): string | undefined {
  const trusted = guard.of(join(directory, path));
  if (trusted.is === "disk") return readNote(directory, path);
  return trusted.is === "text" ? trusted.bytes.toString("utf8") : undefined;
}

/** Whether a note counts as the disk has it, which is what the index was made of. */
export function isAsOnDisk(guard: Pick<TrustedFiles, "of"> = noGuard, directory: string, path: string): boolean {
  return (
    guard.of(join(directory, path)).is === "disk" || trustedNote(guard, directory, path) === readNote(directory, path)
  );
}
