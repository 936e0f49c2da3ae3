/**
 * Opens files and directories that an agent may reach. The real path is checked again on the open file, so that a link that
 * is created between check and open gains nothing.
 */
import type { Stats } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { DeniedError, InvalidInputError, NotFoundError } from "../../../core/errors.ts";
import { type Access, allowedPath, checkInside, checkWritable, type Places } from "./allowed-path.ts";
import { codeOf, DIRECTORY, type Disk, READ } from "./disk.ts";

export interface OpenedFile {
  readonly handle: FileHandle;
  /** Its real path. */
  readonly path: string;
  readonly stats: Stats;
}

/** An open directory: stays the same directory even if its path changes. */
export interface OpenedDirectory {
  readonly handle: FileHandle;
  /** The path of an entry, through the open directory if the system supports that. */
  at(name: string): string;
  readonly path: string;
}

/** Opens a regular file for reading. The caller closes it. */
export async function openFile(disk: Disk, places: Places, path: string): Promise<OpenedFile> {
  const { existing, missing } = await allowedPath(disk, places, path, "read");
  if (missing.length > 0) throw new NotFoundError(`There is no file ${path}.`);
  const handle = await opened(disk, existing, READ, path);
  try {
    const real = await checkOpened(disk, places, handle, existing, "read");
    const stats = await handle.stat();
    if (stats.isDirectory()) throw new InvalidInputError(`${path} is a directory.`, { hint: "Use list." });
    if (!stats.isFile()) throw new DeniedError(`${path} is not a regular file.`);
    return { handle, stats, path: real };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** Opens a directory for listing. The caller closes it. */
export async function openDirectory(disk: Disk, places: Places, path: string): Promise<OpenedDirectory> {
  const { existing, missing } = await allowedPath(disk, places, path, "read");
  if (missing.length > 0) throw new NotFoundError(`There is no directory ${path}.`);
  return directoryAt(disk, places, existing, "read", path);
}

/**
 * Opens the directory of a file to write, and creates missing ones. Each is opened inside its parent, so that none can be
 * replaced by a link in between. The caller closes it.
 */
export async function openParent(
  disk: Disk,
  places: Places,
  path: string,
): Promise<{ readonly directory: OpenedDirectory; readonly name: string }> {
  const { existing, missing } = await allowedPath(disk, places, path, "write");
  const name = missing.at(-1) ?? basename(existing);
  const start = missing.length > 0 ? existing : dirname(existing);
  let directory = await directoryAt(disk, places, start, "write", path);
  for (const next of missing.slice(0, -1)) {
    const parent = directory;
    try {
      await disk.mkdir(parent.at(next), 0o700).catch((error) => {
        if (codeOf(error) !== "EEXIST") throw error;
      });
      directory = await directoryAt(disk, places, parent.at(next), "write", path);
    } finally {
      await parent.handle.close();
    }
  }
  try {
    await checkWritable(disk, places, join(directory.path, name));
  } catch (error) {
    await directory.handle.close();
    throw error;
  }
  return { directory, name };
}

async function directoryAt(
  disk: Disk,
  places: Places,
  place: string,
  access: Access,
  written: string,
): Promise<OpenedDirectory> {
  const handle = await opened(disk, place, DIRECTORY, written);
  try {
    const path = await checkOpened(disk, places, handle, place, access);
    const base = disk.descriptors === undefined ? path : join(disk.descriptors, String(handle.fd));
    return { handle, path, at: (name) => join(base, name) };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

async function opened(disk: Disk, path: string, flags: number, written: string): Promise<FileHandle> {
  try {
    return await disk.open(path, flags);
  } catch (cause) {
    switch (codeOf(cause)) {
      case "ELOOP":
        throw new DeniedError(`${written} is a link.`, { cause });
      case "ENOTDIR":
        throw new InvalidInputError(`A part of ${written} is not a directory.`, { cause });
      case "ENXIO":
        throw new DeniedError(`${written} is not a regular file.`, { cause });
      case "ENOENT":
        throw new NotFoundError(`There is no file ${written}.`, { cause });
      case "EACCES":
        throw new DeniedError(`${written} may not be opened.`, { cause });
      default:
        throw cause;
    }
  }
}

/** The real path of an open descriptor. Throws `DeniedError` if it is outside. */
async function checkOpened(
  disk: Disk,
  places: Places,
  handle: FileHandle,
  path: string,
  access: Access,
): Promise<string> {
  const real = await realPathOfOpen(disk, handle, path);
  await checkInside(disk, places, real, access);
  return real;
}

async function realPathOfOpen(disk: Disk, handle: FileHandle, path: string): Promise<string> {
  if (disk.descriptors !== undefined) return disk.readlink(join(disk.descriptors, String(handle.fd)));
  // On other systems the path is resolved again and must be the open file.
  const real = await disk.realpath(path);
  const [now, open] = await Promise.all([disk.lstat(real), handle.stat()]);
  if (now.dev !== open.dev || now.ino !== open.ino) throw new DeniedError("The path changed while it was opened.");
  return real;
}
