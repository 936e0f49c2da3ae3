/** Reads a text file that an agent may reach. Throws if it is too large or not text. */
import type { Stats } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { InvalidInputError } from "../../../core/errors.ts";
import type { Places } from "./allowed-path.ts";
import type { Disk } from "./disk.ts";
import { openFile } from "./open-inside.ts";

/** The largest file the tools read or write. */
export const MAX_FILE_BYTES = 8 * 1024 * 1024;

export interface TextFile {
  readonly text: string;
  readonly stats: Stats;
  /** Its real path. */
  readonly real: string;
}

export interface BytesOfFile extends Omit<TextFile, "text"> {
  readonly bytes: Uint8Array;
}

export async function readBytes(disk: Disk, places: Places, path: string): Promise<BytesOfFile> {
  const { handle, stats, path: real } = await openFile(disk, places, path);
  try {
    const bytes = await readUpTo(handle, MAX_FILE_BYTES + 1);
    if (bytes.length > MAX_FILE_BYTES) {
      throw new InvalidInputError(`${path} is larger than ${MAX_FILE_BYTES} bytes, which is the limit.`);
    }
    return { bytes, stats, real };
  } finally {
    await handle.close();
  }
}

/** Reads until the end instead of trusting the size: some files grow, and some claim to be empty. */
async function readUpTo(handle: FileHandle, limit: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let have = 0;
  while (have < limit) {
    const chunk = Buffer.allocUnsafe(Math.min(64 * 1024, limit - have));
    const { bytesRead } = await handle.read(chunk, 0, chunk.length);
    if (bytesRead === 0) break;
    chunks.push(chunk.subarray(0, bytesRead));
    have += bytesRead;
  }
  return Buffer.concat(chunks);
}

/** Throws if the bytes are not text. */
export function decode(bytes: Uint8Array, path: string): string {
  const notText = `${path} is not a text file.`;
  if (bytes.includes(0)) throw new InvalidInputError(notText);
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    throw new InvalidInputError(notText, { cause });
  }
}
