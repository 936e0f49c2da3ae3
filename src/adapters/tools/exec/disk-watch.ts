/**
 * Watches how much the directories of commands grow while they run. Commands with the same directories that run at the same time have
 * one sum. Sizes are those on the disk; links are not followed.
 */
import { lstat, opendir } from "node:fs/promises";
import { join, sep } from "node:path";

/** A larger tree is counted in part. */
const MAX_ENTRIES = 500_000;
const BLOCK = 512;
/** An empty file or a directory counts as much: it uses up the disk too. */
const MIN_BYTES = 4_096;
const MIN_PAUSE_MS = 500;
/** A look may take this part of the time. */
const SHARE = 5;

/** The directories of a command, and how much was in them before it started. */
export interface DiskStart {
  readonly roots: readonly string[];
  readonly before: number;
}

export class DiskWatches {
  readonly #now: () => number;
  readonly #byCommand = new Map<string, DiskWatch>();

  /** `now`: a monotonic time. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** The first count runs at the same time as the command. `before`: it was counted by an earlier process. */
  async begin(command: string, writable: readonly string[], before?: number): Promise<DiskStart> {
    const roots = outermost(writable);
    const same = [...this.#byCommand.values()].find((one) => one.roots.join("\0") === roots.join("\0"));
    const watch = same ?? new DiskWatch(roots, this.#now, before);
    this.#byCommand.set(command, watch);
    return { roots, before: await watch.before };
  }

  has(command: string): boolean {
    return this.#byCommand.has(command);
  }

  /** How many bytes were added since the first of the commands started, at the last look. */
  async added(command: string): Promise<number> {
    return (await this.#byCommand.get(command)?.added()) ?? 0;
  }

  end(command: string): void {
    this.#byCommand.delete(command);
  }
}

class DiskWatch {
  readonly roots: readonly string[];
  readonly before: Promise<number>;
  readonly #now: () => number;
  #next: number;
  #added = 0;

  constructor(roots: readonly string[], now: () => number, before?: number) {
    this.roots = roots;
    this.#now = now;
    this.before = before === undefined ? usedBytes(roots) : Promise.resolve(before);
    this.#next = now() + MIN_PAUSE_MS;
  }

  async added(): Promise<number> {
    const began = this.#now();
    if (began < this.#next) return this.#added;
    this.#next = Number.POSITIVE_INFINITY;
    this.#added = (await usedBytes(this.roots)) - (await this.before);
    this.#next = this.#now() + Math.max(MIN_PAUSE_MS, SHARE * (this.#now() - began));
    return this.#added;
  }
}

const outermost = (roots: readonly string[]): readonly string[] =>
  [...new Set(roots)].filter((root) => !roots.some((other) => root.startsWith(`${other}${sep}`))).sort();

async function usedBytes(roots: readonly string[]): Promise<number> {
  const open = [...roots];
  let [bytes, seen] = [0, 0];
  for (let at = open.pop(); at !== undefined && seen < MAX_ENTRIES; at = open.pop()) {
    const directory = await opendir(at).catch(() => undefined);
    if (!directory) continue;
    for await (const entry of directory) {
      if (++seen > MAX_ENTRIES) break;
      const path = join(at, entry.name);
      if (entry.isDirectory()) open.push(path);
      bytes += await lstat(path).then(
        ({ blocks }) => Math.max(blocks * BLOCK, MIN_BYTES),
        () => 0,
      );
    }
  }
  return bytes;
}
