/** The text of a file inside an agent's places, within a limit. Throws where it is too large or no text. */
import type { Stats } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { InvalidInputError } from "../../../core/errors.ts";
import type { Places } from "./allowed-path.ts";
import type { Disk } from "./disk.ts";
import { openFile } from "./open-inside.ts";

/** The largest file the tools read or write. */
export const MAX_FILE_BYTES = 8 * 1024 * 1024;

export async function readText(disk: Disk, places: Places, path: string): Promise<{ text: string; stats: Stats }> {
  const { handle, stats } = await openFile(disk, places, path);
  try {
    const bytes = await readUpTo(handle, MAX_FILE_BYTES + 1);
    if (bytes.length > MAX_FILE_BYTES) {
      throw new InvalidInputError(`${path} is larger than ${MAX_FILE_BYTES} bytes, which is the most that is read.`);
    }
    return { text: decode(bytes, path), stats };
  } finally {
    await handle.close();
  }
}

/** By what can be read, not by what the size says: some files grow, and some only pretend to be empty. */
async function readUpTo(handle: FileHandle, limit: number): Promise<Uint8Array> {
  const portions: Uint8Array[] = [];
  let have = 0;
  while (have < limit) {
    const portion = Buffer.allocUnsafe(Math.min(64 * 1024, limit - have));
    const { bytesRead } = await handle.read(portion, 0, portion.length);
    if (bytesRead === 0) break;
    portions.push(portion.subarray(0, bytesRead));
    have += bytesRead;
  }
  return Buffer.concat(portions);
}

function decode(bytes: Uint8Array, path: string): string {
  const noText = `${path} holds no text.`;
  if (bytes.includes(0)) throw new InvalidInputError(noText);
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    throw new InvalidInputError(noText, { cause });
  }
}
