/**
 * Makes directories, with those above them, but never a home that this process uses. Whoever moves a home away while it is used
 * puts it back later: its place must still be free, and nothing may be written where no one looks for it.
 */
import { mkdirSync, realpathSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { DIRECTORY_MODE } from "../../config/paths.ts";
import { StoreLostError } from "../../core/errors.ts";

/** Homes that this thread uses, by each path that leads to them; how many times each is used. */
const used = new Map<string, number>();

/** Returns the function to call when it is no longer used. */
export function useHome(home: string): () => void {
  const paths = new Set([resolve(home), realOf(home)]);
  for (const path of paths) used.set(path, (used.get(path) ?? 0) + 1);
  let isUsed = true;
  return () => {
    if (!isUsed) return;
    isUsed = false;
    for (const path of paths) {
      const left = (used.get(path) ?? 0) - 1;
      if (left > 0) used.set(path, left);
      else used.delete(path);
    }
  };
}

function realOf(home: string): string {
  try {
    return realpathSync(home);
  } catch {
    return resolve(home);
  }
}

/** Throws a `StoreLostError` if it would be in a home that this process uses and that is missing. */
export function makeDirectory(path: string, mode: number = DIRECTORY_MODE): void {
  const directory = resolve(path);
  if (used.has(directory)) {
    if (isDirectory(directory)) return;
    throw lost(directory);
  }
  const failed = tried(directory, mode);
  if (failed === undefined) return;
  const above = dirname(directory);
  if (failed.code !== "ENOENT" || above === directory) throw failed;
  makeDirectory(above, mode);
  const again = tried(directory, mode);
  if (again !== undefined) throw again;
}

function tried(directory: string, mode: number): NodeJS.ErrnoException | undefined {
  try {
    mkdirSync(directory, { mode });
    return undefined;
  } catch (error) {
    return isDirectory(directory) ? undefined : (error as NodeJS.ErrnoException);
  }
}

const isDirectory = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;

const lost = (home: string): StoreLostError =>
  new StoreLostError(`The home ${home} was deleted or moved away while the process was running.`, {
    hint: "Put back what was there, and work continues.",
  });
