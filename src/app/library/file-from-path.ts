/** A file of this machine as a program gives it to an agent. The program names the path; no text of a message ever does. */
import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";

/** Reads the whole file. Rejects with the file system's error. */
export async function fileFromPath(
  path: string | URL,
): Promise<{ readonly data: Uint8Array<ArrayBuffer>; readonly name: string }> {
  const name = basename(path instanceof URL ? fileURLToPath(path) : path);
  return { data: Uint8Array.from(await readFile(path)), name };
}
