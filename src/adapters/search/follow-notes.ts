/**
 * Keeps the notes of a directory in the index: files that changed are read again, files that are gone are removed. The newest ones
 * are looked at before every search; all of them when the directory changed, and once a minute.
 */
import { lstatSync } from "node:fs";
import { join } from "node:path";
import { documentsOfNote, type NewDocument } from "./documents-of.ts";
import { NOTE_DIRECTORY, NOTE_FILES, type NoteFile, noteFile, notePaths, readNote } from "./note-files.ts";

export interface NoteIndex {
  /** The stamps of the files in the index, by path. */
  stamps(directory: string): Promise<ReadonlyMap<string, string>>;
  replace(directory: string, file: NoteFile, documents: readonly NewDocument[]): Promise<void>;
  remove(directory: string, path: string): Promise<void>;
  /** All directories that have notes in the index. Absent: they may be on another machine, so none is given up. */
  directories?(): Promise<readonly string[]>;
}

export interface NoteFollower {
  follow(directory: string): Promise<void>;
  /** Everything is read again. */
  forget(): void;
}

const ALL_AGAIN_MS = 60_000;
/** Daily notes that are looked at before every search. */
const NEWEST = 3;
/** The clock of a file system is coarse: a file that changed just now may change again with the same stamp. */
const SETTLED_MS = 2_000;
const MAX_DIRECTORIES = 1_000;

interface Known {
  readonly stamps: Map<string, string>;
  directoryStamp: string;
  paths: readonly string[];
  lookedAt: number;
}

export function noteFollower(index: NoteIndex, now: () => number): NoteFollower {
  const known = new Map<string, Known>();
  const lookAt = async (directory: string, { stamps }: Known, path: string): Promise<void> => {
    const file = noteFile(directory, path);
    if (!file) {
      if (stamps.delete(path)) await index.remove(directory, path);
      return;
    }
    if (stamps.get(path) === file.stamp) return;
    const text = readNote(directory, path);
    if (text === undefined) return;
    const settled = file.changedAt < now() - SETTLED_MS;
    const stamp = settled ? file.stamp : `${file.stamp} fresh`;
    await index.replace(directory, { ...file, stamp }, documentsOfNote(text, file.changedAt, undefined));
    stamps.set(path, stamp);
  };
  let sweptAt = Number.NEGATIVE_INFINITY;
  /** Notes of a directory that was removed leave the index, also if no one searches there any more. */
  const sweep = async (): Promise<void> => {
    if (now() - sweptAt <= ALL_AGAIN_MS) return;
    sweptAt = now();
    for (const directory of (await index.directories?.()) ?? []) {
      if (stampOf(directory) !== MISSING) continue;
      for (const path of (await index.stamps(directory)).keys()) await index.remove(directory, path);
      known.delete(directory);
    }
  };
  return {
    forget: () => known.clear(),
    async follow(directory) {
      await sweep();
      let at = known.get(directory);
      if (!at) {
        if (known.size >= MAX_DIRECTORIES) known.clear();
        at = {
          stamps: new Map(await index.stamps(directory)),
          directoryStamp: "",
          paths: [],
          lookedAt: Number.NEGATIVE_INFINITY,
        };
        known.set(directory, at);
      }
      const stamp = stampOf(join(directory, NOTE_DIRECTORY));
      const all = stamp !== at.directoryStamp || now() - at.lookedAt > ALL_AGAIN_MS;
      if (all) {
        at.paths = notePaths(directory);
        at.directoryStamp = stamp;
        at.lookedAt = now();
      }
      const gone = all ? [...at.stamps.keys()].filter((path) => !at.paths.includes(path)) : [];
      const newest = at.paths.slice(-(NOTE_FILES.length + NEWEST));
      for (const path of [...gone, ...(all ? at.paths : newest)]) await lookAt(directory, at, path);
    },
  };
}

const MISSING = "missing";

function stampOf(path: string): string {
  const stats = lstatSync(path, { bigint: true, throwIfNoEntry: false });
  return stats ? `${stats.ino} ${stats.mtimeNs}` : MISSING;
}
