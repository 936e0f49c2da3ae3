/** Finds the files whose changes are kept, below the directories that may hold some. Bounded, and never through a link. */
import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";

interface FoundFile {
  readonly path: string;
  readonly bytes: number;
  readonly changedAt: number;
}

const MOST_DEPTH = 4;
const MOST_DIRECTORIES = 500;
const MOST_FILES = 1_000;
/** What no one means when they speak of notes. */
const LEFT_OUT = new Set(["node_modules", ".git"]);

/** In the order of their names. A directory that cannot be read holds nothing. */
export async function listKept(
  directories: readonly string[],
  isKept: (path: string) => boolean,
): Promise<readonly FoundFile[]> {
  const found = new Map<string, FoundFile>();
  let level = [...new Set(directories)];
  let read = 0;
  for (let depth = 0; depth <= MOST_DEPTH && level.length > 0; depth++) {
    const next: string[] = [];
    for (const directory of level) {
      if (++read > MOST_DIRECTORIES || found.size >= MOST_FILES) break;
      for (const entry of await readdir(directory, { withFileTypes: true }).catch(() => [])) {
        const path = join(directory, entry.name);
        if (entry.isDirectory() && !LEFT_OUT.has(entry.name)) next.push(path);
        else if (entry.isFile() && isKept(path) && found.size < MOST_FILES) {
          const facts = await lstat(path).catch(() => undefined);
          if (facts) found.set(path, { path, bytes: facts.size, changedAt: Math.trunc(facts.mtimeMs) });
        }
      }
    }
    level = next;
  }
  return [...found.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
}
