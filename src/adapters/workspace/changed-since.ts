/**
 * The files below directories that were changed since a time. The time of the last change of a file's entry counts, which a command
 * cannot set. Links are not followed. The search ends at a limit, and says so.
 */
import { lstatSync } from "node:fs";
import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";

/** The clock of the file system may be behind by this much. */
const SLACK_MS = 1_000;

interface ChangedFiles {
  readonly paths: readonly string[];
  /** False: there are more entries than the search looks at, or more such files than it returns. */
  readonly isComplete: boolean;
}

const MAX_ENTRIES = 100_000;
const MAX_FILES = 2_000;

export async function changedSince(roots: readonly string[], since: number): Promise<ChangedFiles> {
  const paths: string[] = [];
  const open = [...roots];
  for (let seen = 0, directory = open.pop(); directory !== undefined; directory = open.pop()) {
    const entries = await readdir(directory, { withFileTypes: true }).catch(() => []);
    seen += entries.length;
    if (seen > MAX_ENTRIES || paths.length > MAX_FILES) return { paths, isComplete: false };
    for (const entry of entries) {
      const path = join(directory, entry.name);
      if (entry.isDirectory()) open.push(path);
      else if (entry.isFile() && (await changeTime(path)) >= since - SLACK_MS) paths.push(path);
    }
  }
  return { paths, isComplete: true };
}

const changeTime = (path: string): Promise<number> =>
  lstat(path).then(
    ({ ctimeMs }) => ctimeMs,
    () => 0,
  );

/** Whether one file was changed since. One that cannot be looked at was. */
export function isChangedSince(path: string, since: number): boolean {
  try {
    return lstatSync(path).ctimeMs >= since - SLACK_MS;
  } catch {
    return true;
  }
}
