/**
 * Writes a file that an agent may reach: to a temporary file, flushed, then renamed, so that it is never half written. A link
 * is never followed; a file outside that shares the content by a hard link does not change.
 */
import { randomBytes } from "node:crypto";
import type { Stats } from "node:fs";
import { join } from "node:path";
import { DeniedError, InvalidInputError } from "../../../core/errors.ts";
import type { Places } from "./allowed-path.ts";
import { CREATE, codeOf, type Disk } from "./disk.ts";
import { type OpenedDirectory, openParent } from "./open-inside.ts";
import { checkQuota } from "./quota.ts";

interface Written {
  readonly created: boolean;
  readonly bytes: number;
}

/** Does something before and after a file is replaced or removed. */
export type Around = (real: string, change: () => Promise<void>) => Promise<void>;

export interface Writing {
  /** The expected file; a file that has changed is not replaced. */
  readonly replaces?: Stats;
  /** Called with the real path instead of the replacement itself, which is its second argument. */
  readonly around?: Around;
}

/** Durable when it resolves. */
export async function writeInside(
  disk: Disk,
  places: Places,
  path: string,
  content: string,
  writing: Writing = {},
): Promise<Written> {
  const { quota } = places;
  if (!quota) return writeNow(disk, places, path, content, writing);
  return quota.exclusive(async () => {
    await checkQuota(disk, places, path, Buffer.byteLength(content));
    return writeNow(disk, places, path, content, writing);
  });
}

async function writeNow(
  disk: Disk,
  places: Places,
  path: string,
  content: string,
  { replaces, around = (_, change) => change() }: Writing,
): Promise<Written> {
  const { directory, name } = await openParent(disk, places, path);
  try {
    const before = await regularFile(disk, directory, name, path);
    const temporary = directory.at(`.rookery-${randomBytes(8).toString("hex")}.tmp`);
    try {
      const handle = await disk.open(temporary, CREATE, 0o600);
      try {
        if (before) await handle.chmod(before.mode & 0o777);
        await handle.writeFile(content);
        await handle.sync();
      } finally {
        await handle.close();
      }
      await around(join(directory.path, name), async () => {
        if (replaces) checkUnchanged(replaces, await regularFile(disk, directory, name, path), path);
        await disk.rename(temporary, directory.at(name));
        await directory.handle.sync();
      });
    } catch (error) {
      await disk.remove(temporary);
      throw error;
    }
    return { created: before === undefined, bytes: Buffer.byteLength(content) };
  } finally {
    await directory.handle.close();
  }
}

/** The current file; undefined if there is none. Throws if it is not a regular file. */
export async function regularFile(
  disk: Disk,
  directory: OpenedDirectory,
  name: string,
  path: string,
): Promise<Stats | undefined> {
  const stats = await disk.lstat(directory.at(name)).catch((error) => {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  });
  if (stats?.isDirectory()) throw new InvalidInputError(`${path} is a directory.`);
  if (stats && !stats.isFile()) throw new DeniedError(`${path} is not a regular file.`);
  return stats;
}

export function checkUnchanged(was: Stats, now: Stats | undefined, path: string): void {
  const same =
    now && now.ino === was.ino && now.dev === was.dev && now.mtimeMs === was.mtimeMs && now.size === was.size;
  if (same) return;
  throw new InvalidInputError(`${path} has changed since you read it and was not replaced.`, {
    hint: "Read it again first.",
  });
}
