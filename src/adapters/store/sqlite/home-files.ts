/**
 * Whether the files of a home are still those this process opened. An open file outlives its name: after a deletion or a
 * replacement, commits would succeed in files that no later process finds. So every group of commits is answered only
 * after this check (L1).
 */
import { type BigIntStats, statSync } from "node:fs";
import { join } from "node:path";
import { StoreLostError } from "../../../core/errors.ts";

/** Device and inode by file name. While a process has a file open, no other file gets its inode. */
export type HomeIdentity = Readonly<Record<string, string>>;

export interface HomeFiles {
  /** Undefined while every path leads to the file that was opened. Never throws. */
  lost(): StoreLostError | undefined;
}

interface HomeFilesOptions {
  /** Called once when the files are found lost. */
  readonly onLost?: (error: StoreLostError) => void;
  /** Called when they are back in their places. */
  readonly onFound?: () => void;
}

/** The directory itself has the name "". Without the lock a second process could write (M7). */
const DIRECTORY = "";
const FILES = ["rookery.db", "rookery.db-wal", "rookery.lock"];

/** A directory that changed more recently may change again without a new time: clocks of file systems are coarse. */
const COARSE_NS = 1_000_000_000n;
const NS_PER_MS = 1_000_000n;

/** Call it with the lock held and the database open. */
export const identifyHome = (home: string): HomeIdentity =>
  Object.fromEntries([DIRECTORY, ...FILES].map((name) => [name, identityOf(look(home, name)) ?? "missing"]));

export function homeFiles(home: string, identity: HomeIdentity, options: HomeFilesOptions = {}): HomeFiles {
  /** When the directory had changed at the last look at every file. Unchanged: no file was added, removed or renamed. */
  let settled: bigint | undefined;
  let error: StoreLostError | undefined;

  const problem = (): string | undefined => {
    const directory = look(home, DIRECTORY);
    const changed = difference("The home", identity[DIRECTORY], directory);
    if (changed !== undefined || directory === undefined) return changed;
    if (directory.ctimeNs === settled) return undefined;
    for (const name of FILES) {
      const found = difference(`The file ${name} of the home`, identity[name], look(home, name));
      if (found !== undefined) return found;
    }
    const age = BigInt(Date.now()) * NS_PER_MS - directory.ctimeNs;
    settled = age > COARSE_NS ? directory.ctimeNs : undefined;
    return undefined;
  };

  return {
    lost() {
      const what = problem();
      if (what === undefined) {
        if (error) options.onFound?.();
        error = undefined;
        return undefined;
      }
      settled = undefined;
      if (error?.message.startsWith(what)) return error;
      const first = error === undefined;
      error = new StoreLostError(`${what} while the process was running. Nothing is accepted until it is back.`, {
        hint: "Put back what was there, and work continues. Restart the process to use what is there now.",
      });
      if (first) options.onLost?.(error);
      return error;
    },
  };
}

function difference(what: string, opened: string | undefined, now: BigIntStats | undefined): string | undefined {
  if (now === undefined) return `${what} was deleted or moved away`;
  return identityOf(now) === opened ? undefined : `${what} was replaced`;
}

const identityOf = (found: BigIntStats | undefined): string | undefined => found && `${found.dev}:${found.ino}`;

/** Any error counts as missing: a file that cannot be reached cannot be found by the next process either. */
function look(home: string, name: string): BigIntStats | undefined {
  try {
    return statSync(join(home, name), { bigint: true, throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}
