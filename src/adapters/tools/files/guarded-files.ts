/**
 * Files that say what agents are told and what runs by itself. Only the owner's agents write them. A real path is judged, at any
 * depth: a directory below one workspace may be the workspace of another agent.
 */
import { relative, sep } from "node:path";
import { DeniedError } from "../../../core/errors.ts";
import type { Disk } from "./disk.ts";

export interface GuardedFiles {
  /** The workspaces these files belong to. A path is judged from each that it lies in. */
  readonly roots: readonly string[];
  /** Names of files, in any directory. */
  readonly files: readonly string[];
  /** Names of directories that are guarded with all they hold. */
  readonly directories: readonly string[];
}

/** Throws `DeniedError` where a real path is guarded. */
export async function checkGuarded(disk: Disk, { roots, files, directories }: GuardedFiles, real: string) {
  const [fileNames, directoryNames] = [new Set(files.map(folded)), new Set(directories.map(folded))];
  for (const root of roots) {
    const realRoot = await disk.realpath(root).catch(() => undefined);
    if (realRoot === undefined) continue;
    const names = relative(realRoot, real).split(sep);
    if (names[0] === "..") continue;
    if (!names.map(folded).some((name) => fileNames.has(name) || directoryNames.has(name))) continue;
    throw new DeniedError("This is a prompt or task file: only the owner's agents can write it.", {
      hint: "Choose another name, or ask the owner to change it.",
    });
  }
}

/** Two names that any file system takes for one are folded to the same text. */
const folded = (name: string): string =>
  name
    .normalize("NFKC")
    .replace(/\p{Default_Ignorable_Code_Point}/gu, "")
    .toUpperCase()
    .toLowerCase()
    .replace(/[. ]{1,255}$/u, "");
