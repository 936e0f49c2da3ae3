/**
 * The room on the disk of a home. SQLite's log grows before its pages move into the database, so on a small disk it must
 * stay small; and many errors of SQLite only mean that there is no room.
 */
import { statfsSync } from "node:fs";

/** A larger log than SQLite's default, so that pages which every message changes are checkpointed less often. */
const MOST_LOG_PAGES = 10_000;
const LEAST_LOG_PAGES = 64;
const PAGE_BYTES = 4_096;
/** The share of the free room that the log may take: the rest is for the pages that move into the database, and more. */
const LOG_SHARE = 8;
/** With less room than this nothing can be opened: the index of the log alone takes 32 kB. */
const NO_ROOM_BYTES = 128 * 1_024;

/** Undefined if the file system does not say. */
export function freeBytes(directory: string): number | undefined {
  try {
    const { bavail, bsize } = statfsSync(directory);
    return bavail * bsize;
  } catch {
    return undefined;
  }
}

/** After how many pages the log is checkpointed. */
export function logPagesFor(free: number | undefined): number {
  if (free === undefined) return MOST_LOG_PAGES;
  const share = Math.floor(free / LOG_SHARE / PAGE_BYTES);
  return Math.min(MOST_LOG_PAGES, Math.max(LEAST_LOG_PAGES, share));
}

const NO_ROOM_CODES = new Set(["ENOSPC", "EDQUOT"]);
/** FULL; and IOERR or CANTOPEN, which SQLite also reports when it cannot make or grow a file. */
const FULL = 13;
const MAY_BE_FULL = new Set([10, 14]);

/** Whether an error means that the disk is full. */
export function isOutOfRoom(error: unknown, directory: string): boolean {
  const { code, errcode } = (error ?? {}) as { code?: unknown; errcode?: unknown };
  if (NO_ROOM_CODES.has(String(code))) return true;
  const primary = typeof errcode === "number" ? errcode & 0xff : undefined;
  if (primary === FULL) return true;
  return primary !== undefined && MAY_BE_FULL.has(primary) && hasNoRoom(directory);
}

export function hasNoRoom(directory: string): boolean {
  const free = freeBytes(directory);
  return free !== undefined && free < NO_ROOM_BYTES;
}
