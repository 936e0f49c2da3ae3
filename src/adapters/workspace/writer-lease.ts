/**
 * Notes the content of protected files, or that they are missing, before a command or a server starts that could write beside them. A
 * lease is a file in `writers/` of the home, which every sandbox hides, so it outlives a crash of the engine.
 */
import { randomBytes } from "node:crypto";
import {
  type BigIntStats,
  closeSync,
  existsSync,
  fstatSync,
  lstatSync,
  opendirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  realpathSync,
} from "node:fs";
import { open, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { z } from "zod";
import { FILE_MODE, type HomePaths } from "../../config/paths.ts";
import { changeAuthorSchema } from "../../core/file-change.ts";
import { makeDirectory } from "../system/make-directory.ts";
import { READ } from "../tools/files/disk.ts";

export const leaseDirectory = ({ home }: Pick<HomePaths, "home">): string => join(home, "writers");

/** A directory with more in it than that is not as it was. */
const MOST_FILES = 10_000;
/** The content of a larger file is not kept. */
const MAX_KEPT = 1024 * 1024;
const MAX_KEPT_BELOW = 16 * MAX_KEPT;

const entrySchema = z
  .object({
    path: z.string(),
    /** With the links on the way resolved, as they were then. */
    real: z.string(),
    state: z.union([
      z.object({ is: z.literal("absent") }),
      z.object({ is: z.literal("file"), base64: z.string(), mode: z.int() }),
      /** Too large to be kept: it counts as long as nothing about it changes. */
      z.object({ is: z.literal("large"), stamp: z.string() }),
      /** Mounted read-only as a whole: what is in it counts as long as it is the same directory. */
      z.object({ is: z.literal("directory"), identity: z.string() }),
      /** A link, or not a file at all. No prompt is read through it. */
      z.object({ is: z.literal("other") }),
    ]),
  })
  .readonly();
export type LeaseEntry = z.infer<typeof entrySchema>;
type LeaseState = LeaseEntry["state"];

const leaseSchema = z
  .object({
    writer: z.string(),
    /** The directory it was written in: a copy of a home elsewhere has nothing to do with these paths. */
    place: z.string(),
    at: z.number(),
    /** The last change that was made before it. Later ones count. */
    since: z.int(),
    /** Where the writer may write: a directory below that has prompt files later gets entries of its own. */
    writable: z.array(z.string()).readonly().default([]),
    /** Whether it must not make repositories, or change what makes git run programs. */
    repositories: z.boolean().default(false),
    /** It may change repositories: what they were before, and whose change it is. */
    kept: z
      .object({ by: changeAuthorSchema, why: z.string(), before: z.array(entrySchema).readonly() })
      .readonly()
      .optional(),
    entries: z.array(entrySchema).readonly(),
  })
  .readonly();
export type WriterLease = z.infer<typeof leaseSchema>;

export async function writeLease(directory: string, lease: Omit<WriterLease, "place">): Promise<WriterLease> {
  const whole: WriterLease = { ...lease, place: realOf(directory) };
  makeDirectory(directory);
  await replaceFile(join(directory, `${lease.writer}.json`), Buffer.from(JSON.stringify(whole)), FILE_MODE);
  return whole;
}

export const removeLease = (directory: string, writer: string): Promise<void> =>
  rm(join(directory, `${writer}.json`), { force: true });

/** The oldest first. One that cannot be read was not complete before its writer started. */
export function readLeases(directory: string): readonly WriterLease[] {
  if (!existsSync(directory)) return [];
  const names = readdirSync(directory).filter((name) => name.endsWith(".json"));
  return names
    .flatMap((name) => leaseAt(join(directory, name)))
    .filter(({ place }) => place === realOf(directory))
    .sort((a, b) => a.at - b.at || a.since - b.since);
}

function leaseAt(path: string): readonly WriterLease[] {
  try {
    return [leaseSchema.parse(JSON.parse(readFileSync(path, "utf8")))];
  } catch {
    return [];
  }
}

/** Reads the state of a path. */
export function stateAt(path: string): LeaseState {
  const stats = statsAt(path);
  if (!stats) return { is: "absent" };
  if (stats.isDirectory()) return { is: "directory", identity: identityOf(stats) };
  if (!stats.isFile()) return { is: "other" };
  if (stats.size > MAX_KEPT) return { is: "large", stamp: stampOf(stats) };
  const bytes = bytesAt(path, MAX_KEPT);
  return bytes ? { is: "file", base64: bytes.toString("base64"), mode: Number(stats.mode) & 0o777 } : { is: "other" };
}

/** Undefined if it is not a regular file, or larger than that. */
export function bytesAt(path: string, limit: number): Buffer | undefined {
  try {
    const fd = openSync(path, READ);
    try {
      const stats = fstatSync(fd);
      if (!stats.isFile() || stats.size > limit) return undefined;
      const buffer = Buffer.alloc(stats.size);
      return buffer.subarray(0, readSync(fd, buffer, 0, buffer.length, 0));
    } finally {
      closeSync(fd);
    }
  } catch {
    return undefined;
  }
}

export function statsAt(path: string): BigIntStats | undefined {
  try {
    return lstatSync(path, { bigint: true });
  } catch {
    return undefined;
  }
}

/**
 * What is in a directory that the writer can write, file by file: nothing else counts in it. Of more than `MAX_KEPT_BELOW` bytes the
 * content is not kept.
 */
export function statesBelow(path: string, files: readonly string[]): readonly LeaseEntry[] {
  let kept = 0;
  const entries = files.map((file): LeaseEntry => {
    const stats = statsAt(file);
    kept += stats?.isFile() ? Number(stats.size) : 0;
    const tooMuch = stats?.isFile() && kept > MAX_KEPT_BELOW ? stampOf(stats) : undefined;
    const state: LeaseState = tooMuch === undefined ? stateAt(file) : { is: "large", stamp: tooMuch };
    return { path: file, real: realOf(file), state };
  });
  return [{ path, real: realOf(path), state: { is: "absent" } }, ...entries];
}

/** Everything but directories; nothing if there is too much. Never through a link. */
export function filesBelow(root: string): readonly string[] {
  const found: string[] = [];
  const open = [root];
  let looked = 0;
  for (let next = open.pop(); next !== undefined && looked <= MOST_FILES; next = open.pop()) {
    const directory = statsAt(next)?.isDirectory() ? opendirSync(next) : undefined;
    for (let entry = directory?.readSync(); entry && looked++ <= MOST_FILES; entry = directory?.readSync())
      (entry.isDirectory() ? open : found).push(join(next, entry.name));
    directory?.closeSync();
  }
  return looked > MOST_FILES ? [] : found;
}

export const identityOf = ({ dev, ino, birthtimeNs }: BigIntStats): string => `${dev} ${ino} ${birthtimeNs}`;
export const stampOf = (stats: BigIntStats): string => `${identityOf(stats)} ${stats.size} ${stats.ctimeNs}`;

/** A path with the links on the way to it resolved. What does not exist keeps its names. */
export function realOf(path: string): string {
  const parent = dirname(path);
  if (parent === path) return path;
  try {
    return join(realpathSync(parent), basename(path));
  } catch {
    return join(realOf(parent), basename(path));
  }
}

/** Replaces a file whole. Durable when it resolves. */
export async function replaceFile(path: string, bytes: Buffer, mode: number): Promise<void> {
  const temporary = join(dirname(path), `.rookery-${randomBytes(8).toString("hex")}.tmp`);
  try {
    const handle = await open(temporary, "wx", mode);
    try {
      await handle.writeFile(bytes);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}
