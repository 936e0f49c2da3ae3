/**
 * Reads a file that an agent may reach as it counts: what a running command has put in the place of a prompt file is neither shown nor
 * changed further. So a person who reviews a change sees all of it.
 */
import { NotFoundError } from "../../../core/errors.ts";
import type { Places } from "./allowed-path.ts";
import type { Disk } from "./disk.ts";
import type { KeepsChanges } from "./file-changes.ts";
import { type BytesOfFile, decode, readBytes, type TextFile } from "./read-text.ts";

interface TrustedDeps {
  readonly disk: Disk;
  readonly changes: Pick<KeepsChanges, "trusted">;
}

export async function readTrustedBytes(deps: TrustedDeps, places: Places, path: string): Promise<BytesOfFile> {
  const file = await readBytes(deps.disk, places, path);
  const trusted = deps.changes.trusted(file.real);
  if (trusted.is === "absent") throw new NotFoundError(`There is no file ${path}.`);
  return trusted.is === "disk" ? file : { ...file, bytes: trusted.bytes };
}

export async function readTrusted(deps: TrustedDeps, places: Places, path: string): Promise<TextFile> {
  const { bytes, stats, real } = await readTrustedBytes(deps, places, path);
  return { text: decode(bytes, path), stats, real };
}
