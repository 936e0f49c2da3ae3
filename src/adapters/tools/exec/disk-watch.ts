/** Watches how much the directories of a command grow while it runs. Sizes are those on the disk; links are not followed. */
import { lstat, opendir } from "node:fs/promises";
import { join, sep } from "node:path";

/** A larger tree is counted in part. */
const MAX_ENTRIES = 500_000;
const BLOCK = 512;
const MIN_PAUSE_MS = 500;
/** A look may take this part of the time. */
const SHARE = 5;

export interface DiskWatch {
  /** How many bytes were added since the start; undefined if it is too early for another look. */
  added(): Promise<number | undefined>;
}

/** `now`: a monotonic time. The first count runs at the same time as the command. */
export function watchDisk(roots: readonly string[], now: () => number): DiskWatch {
  const outermost = roots.filter((root) => !roots.some((other) => root.startsWith(`${other}${sep}`)));
  const before = usedBytes(outermost);
  let next = now() + MIN_PAUSE_MS;
  return {
    async added() {
      const began = now();
      if (began < next) return undefined;
      next = Number.POSITIVE_INFINITY;
      const used = await usedBytes(outermost);
      const added = used - (await before);
      next = now() + Math.max(MIN_PAUSE_MS, SHARE * (now() - began));
      return added;
    },
  };
}

async function usedBytes(roots: readonly string[]): Promise<number> {
  const open = [...new Set(roots)];
  let [bytes, seen] = [0, 0];
  for (let at = open.pop(); at !== undefined && seen < MAX_ENTRIES; at = open.pop()) {
    const directory = await opendir(at).catch(() => undefined);
    if (!directory) continue;
    for await (const entry of directory) {
      seen += 1;
      const path = join(at, entry.name);
      if (entry.isDirectory()) open.push(path);
      else
        bytes += await lstat(path).then(
          ({ blocks }) => blocks * BLOCK,
          () => 0,
        );
    }
  }
  return bytes;
}
