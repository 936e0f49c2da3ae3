/**
 * The real path behind a model's path, and whether it is allowed. This is the first of two checks and gives a clear error. The
 * second one is made on the open file, because a path may change in between.
 */
import { basename, dirname, join, resolve, sep } from "node:path";
import { DeniedError, InvalidInputError } from "../../../core/errors.ts";
import { codeOf, type Disk } from "./disk.ts";
import { checkGuarded, type GuardedFiles } from "./guarded-files.ts";
import type { Quota } from "./quota.ts";

/** Where an agent may read and write. Writing implies reading. */
export interface Places {
  /** The base of relative paths. Readable and writable. */
  readonly workingDir: string;
  readonly readDirs?: readonly string[];
  readonly writeDirs?: readonly string[];
  /** Files that must not be written even there. The working directory has none. */
  readonly guarded?: GuardedFiles;
  /** How much the working directory may hold. */
  readonly quota?: Quota;
}

/** All that it may read. */
export const directoriesOf = ({ workingDir, readDirs = [], writeDirs = [] }: Places): readonly string[] => [
  workingDir,
  ...readDirs,
  ...writeDirs,
];

export type Access = "read" | "write";

const MAX_PATH = 4_096;
const MAX_NAME_BYTES = 255;
/** Control characters, and characters that make a text look different from what it is. */
const FORBIDDEN = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u;

/** Refuses malformed paths. */
export function checkPathText(path: string): void {
  const problem = problemOf(path);
  if (problem !== undefined) throw new InvalidInputError(`This is not a usable path: ${problem}.`);
}

function problemOf(path: string): string | undefined {
  if (path.trim() === "") return "it is empty";
  if (path.length > MAX_PATH) return `it is longer than ${MAX_PATH} characters`;
  if (FORBIDDEN.test(path)) return "it contains control characters";
  if (!path.isWellFormed()) return "it contains half a character";
  const long = path.split("/").some((name) => Buffer.byteLength(name) > MAX_NAME_BYTES);
  return long ? `a name in it is longer than ${MAX_NAME_BYTES} bytes` : undefined;
}

/** A path in two parts: the existing part with all links resolved, and the missing names. */
interface RealPath {
  readonly existing: string;
  readonly missing: readonly string[];
}

/** Throws `DeniedError` if the path leads outside or to a guarded file, even if it does not exist. */
export async function allowedPath(disk: Disk, places: Places, path: string, access: Access): Promise<RealPath> {
  checkPathText(path);
  const real = await realPathOf(disk, resolve(places.workingDir, path));
  await checkInside(disk, places, real.existing, access);
  if (access === "write") await checkWritable(disk, places, pathText(real));
  return real;
}

/** Throws `DeniedError` unless a real path is one of the roots or below one. */
export async function checkInside(disk: Disk, places: Places, real: string, access: Access): Promise<void> {
  const roots = [places.workingDir, ...(places.writeDirs ?? []), ...(access === "read" ? (places.readDirs ?? []) : [])];
  for (const root of roots) {
    const realRoot = await disk.realpath(root).catch(() => undefined);
    if (realRoot !== undefined && isInside(realRoot, real)) return;
  }
  throw new DeniedError("Path is outside the allowed directories.");
}

/** Throws `DeniedError` if a real path outside the working directory is a guarded file, seen from any writable directory. */
export async function checkWritable(disk: Disk, places: Places, real: string): Promise<void> {
  const { guarded, workingDir, writeDirs = [] } = places;
  if (!guarded || isInside(await disk.realpath(workingDir), real)) return;
  await checkGuarded(disk, { ...guarded, roots: [...writeDirs, ...guarded.roots] }, real);
}

/** Both real. `/home/ws-other` is not inside `/home/ws`. */
export const isInside = (root: string, path: string): boolean =>
  path === root || path.startsWith(root.endsWith(sep) ? root : `${root}${sep}`);

async function realPathOf(disk: Disk, path: string): Promise<RealPath> {
  const missing: string[] = [];
  for (let at = path; ; at = dirname(at)) {
    try {
      return { existing: await disk.realpath(at), missing };
    } catch (error) {
      const code = codeOf(error);
      if (code === "ELOOP") throw new DeniedError("The path is a cycle of links.", { cause: error });
      if ((code !== "ENOENT" && code !== "ENOTDIR" && code !== "EACCES") || dirname(at) === at) throw error;
      missing.unshift(basename(at));
    }
  }
}

/** The whole path as text. */
export const pathText = ({ existing, missing }: RealPath): string => join(existing, ...missing);
