/**
 * Protects prompt files and task files: only the owner's agents may write them (L13). Real paths are checked at any depth,
 * because a directory inside one workspace may be another agent's workspace.
 */

import { relative, sep } from "node:path";
import { DeniedError } from "../../../core/errors.ts";
import { trimCharsEnd } from "../../../core/trim-chars.ts";
import type { Disk } from "./disk.ts";

export interface GuardedFiles {
  /** The workspaces. A path is checked from each workspace that contains it. */
  readonly roots: readonly string[];
  /** Names of files, in any directory. */
  readonly files: readonly string[];
  /** Names of directories that are guarded with their content. */
  readonly directories: readonly string[];
}

/** Throws `DeniedError` if a real path is guarded. */
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

/** Names that some file system treats as equal fold to the same text. */
const folded = (name: string): string =>
  trimCharsEnd(
    name
      .normalize("NFKC")
      .replace(/\p{Default_Ignorable_Code_Point}/gu, "")
      .toUpperCase()
      .toLowerCase(),
    ". ",
  );
