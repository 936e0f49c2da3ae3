/**
 * Reads files of workspaces for system prompts: regular files in their place, never through a link, bounded. A prompt is built
 * before every model call, so what was read is remembered while nothing has changed: one look at a directory tells that a file
 * which was not there still is not, one look at a file that it is the same.
 */
import { type BigIntStats, closeSync, constants, fstatSync, lstatSync, openSync, readSync } from "node:fs";
import { join } from "node:path";
import type { ReadWorkspaceFile } from "../../engine/context/prompt/system-prompt.ts";

const MAX_BYTES = 1024 * 1024;
/** Longer files are read each time; of so many workspaces what was read is remembered. */
const MAX_REMEMBERED = 64 * 1024;
const MAX_WORKSPACES = 100;
/** Clocks of file systems are coarse: what was changed just before it was read may change again and look the same. */
const SETTLED_MS = 2_000;

interface Remembered {
  /** The file's, or of its directory where there was no file. */
  readonly print: string;
  readonly text: string | undefined;
}

/** Gives undefined for whatever cannot be read: a prompt is built without it, and says so in its report. */
export function workspaceReaders(now: () => number): (workspace: string) => ReadWorkspaceFile {
  const known = new Map<string, Map<string, Remembered>>();
  return (workspace) => {
    const directory = printOf(workspace, now());
    const files = known.get(workspace) ?? new Map<string, Remembered>();
    if (known.size >= MAX_WORKSPACES) known.clear();
    known.set(workspace, files);
    return (name) => {
      const last = files.get(name);
      // Nothing was made, removed or renamed in the directory: what was not there still is not.
      if (last && last.print === directory) return undefined;
      const path = join(workspace, name);
      const print = printOf(path, now());
      if (last && last.print === print) return last.text;
      const text = print === MISSING ? undefined : read(path);
      const told = print === MISSING && !name.includes("/") ? directory : print;
      if (told === FRESH || told === MISSING || (text?.length ?? 0) > MAX_REMEMBERED) files.delete(name);
      else files.set(name, { print: told, text });
      return text;
    };
  };
}

const MISSING = "missing";
const FRESH = "fresh";

/** What tells one state of a file or directory from another. */
function printOf(path: string, now: number): string {
  let stats: BigIntStats | undefined;
  try {
    stats = lstatSync(path, { bigint: true, throwIfNoEntry: false });
  } catch {
    return FRESH;
  }
  if (!stats) return MISSING;
  if (Number(stats.ctimeMs) > now - SETTLED_MS) return FRESH;
  const { ino, size, mtimeNs, ctimeNs } = stats;
  return `${ino} ${size} ${mtimeNs} ${ctimeNs}`;
}

function read(path: string): string | undefined {
  try {
    const fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const stats = fstatSync(fd);
      if (!stats.isFile()) return undefined;
      const buffer = Buffer.alloc(Math.min(stats.size, MAX_BYTES));
      return buffer.toString("utf8", 0, readSync(fd, buffer, 0, buffer.length, 0));
    } finally {
      closeSync(fd);
    }
  } catch {
    return undefined;
  }
}
