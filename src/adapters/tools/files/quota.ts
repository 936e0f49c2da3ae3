/** How much a person may store. Checked before anything is created, inside the queue of the person's writes. */
import type { Dirent } from "node:fs";
import { join } from "node:path";
import { TooLargeError } from "../../../core/errors.ts";
import { allowedPath, isInside, type Places, pathText } from "./allowed-path.ts";
import type { Disk } from "./disk.ts";
import type { Exclusive } from "./write-queues.ts";

export interface Quota {
  /** The person, for messages. */
  readonly of: string;
  readonly maxBytes: number;
  /** Files and directories. */
  readonly maxFiles: number;
  /** All writes into the directory go through it. */
  readonly exclusive: Exclusive;
}

interface Usage {
  readonly bytes: number;
  readonly files: number;
}

/** Throws `TooLargeError` if writing `bytes` to this path would exceed the quota. Other directories have no quota. */
export async function checkQuota(disk: Disk, places: Places, path: string, bytes: number): Promise<void> {
  const { quota, workingDir } = places;
  if (!quota) return;
  const real = await allowedPath(disk, places, path, "write");
  const root = await disk.realpath(workingDir);
  if (!isInside(root, real.existing)) return;
  const before = real.missing.length > 0 ? 0 : (await disk.lstat(pathText(real))).size;
  const more: Usage = { bytes: bytes - before, files: real.missing.length };
  const used = await usageOf(disk, root, quota.maxFiles);
  if (more.bytes > 0 && used.bytes + more.bytes > quota.maxBytes)
    throw full(quota, `${used.bytes} of ${quota.maxBytes} bytes`, path, more.bytes, "maxBytes");
  if (more.files > 0 && used.files + more.files > quota.maxFiles)
    throw full(quota, `${used.files} of ${quota.maxFiles} files and directories`, path, more.files, "maxFiles");
  // Not all of them were counted, so it is not known how many bytes are left.
  if (more.bytes > 0 && used.files > quota.maxFiles)
    throw new TooLargeError(
      `The files of ${quota.of} are full: there are more than ${quota.maxFiles}, so ${path} cannot grow.`,
      { hint: "Delete files, or ask the owner to raise workspaces.maxFiles." },
    );
}

const full = (quota: Quota, used: string, path: string, more: number, key: "maxBytes" | "maxFiles"): TooLargeError =>
  new TooLargeError(`The files of ${quota.of} are full: ${used} are used, and ${path} needs ${more} more.`, {
    hint: `${key === "maxBytes" ? "Shorten a file" : "Write to a file that exists"}, or ask the owner to raise workspaces.${key}.`,
  });

/** Everything below a directory, never through a link. Stops when more than `most` entries are found. */
async function usageOf(disk: Disk, root: string, most: number): Promise<Usage> {
  const open = [root];
  let [bytes, files] = [0, 0];
  for (let directory = open.pop(); directory !== undefined && files <= most; directory = open.pop()) {
    const at = directory;
    const entries = await disk.readdir(at);
    files += entries.length;
    open.push(...entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(at, name)));
    const sizes = await Promise.all(
      entries.filter((entry) => !entry.isDirectory()).map((entry) => sizeOf(disk, at, entry)),
    );
    bytes += sizes.reduce((sum, size) => sum + size, 0);
  }
  return { bytes, files };
}

/** A file that was removed in between has no size. */
const sizeOf = (disk: Disk, directory: string, { name }: Dirent): Promise<number> =>
  disk.lstat(join(directory, name)).then(
    ({ size }) => size,
    () => 0,
  );
