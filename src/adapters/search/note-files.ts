/** Finds the notes of a directory: MEMORY.md, USER.md and the files of `memory/`. Regular files only, never through a link. */
import { lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { readPlainText } from "../system/plain-text.ts";

export const NOTE_FILES = ["MEMORY.md", "USER.md"] as const;
export const NOTE_DIRECTORY = "memory";
const NAME = /^[\p{L}\p{N}_][\p{L}\p{N}_. -]{0,127}\.(?:md|txt)$/u;
const MAX_FILES = 20_000;
const MAX_BYTES = 1024 * 1024;

export interface NoteFile {
  /** In the directory. */
  readonly path: string;
  /** Differs whenever the file has changed. */
  readonly stamp: string;
  readonly changedAt: number;
}

/** Paths in their order; dates are names, so the newest daily notes are last. `names`: in `memory/`, if not those of the disk. */
export function notePaths(directory: string, names: readonly string[] = namesIn(directory)): readonly string[] {
  const notes = names.filter((name) => NAME.test(name)).map((name) => `${NOTE_DIRECTORY}/${name}`);
  return [...notes.sort().slice(-MAX_FILES), ...NOTE_FILES];
}

function namesIn(directory: string): readonly string[] {
  const path = join(directory, NOTE_DIRECTORY);
  try {
    if (!lstatSync(path).isDirectory()) return [];
    return readdirSync(path, { withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ name }) => name);
  } catch {
    return [];
  }
}

/** Undefined if it is not a regular file. */
export function noteFile(directory: string, path: string): NoteFile | undefined {
  const stats = lstatSync(join(directory, path), { bigint: true, throwIfNoEntry: false });
  if (!stats?.isFile()) return undefined;
  const { ino, size, mtimeNs, ctimeNs } = stats;
  return { path, stamp: `${ino} ${size} ${mtimeNs} ${ctimeNs}`, changedAt: Number(stats.mtimeMs) };
}

/** Undefined if it cannot be read. Longer files are read up to a mebibyte. */
export const readNote = (directory: string, path: string): string | undefined =>
  readPlainText(join(directory, path), MAX_BYTES, "cut");
