/** Errors of SQLite that come from the disk: whether they concern all changes, and whether the process can continue (M2). */
import { type RookeryError, StoreFullError, StoreUnreadableError } from "../../../core/errors.ts";

const DISK_CODES = new Set([
  8 /* READONLY */, 10 /* IOERR */, 11 /* CORRUPT */, 13 /* FULL */, 14 /* CANTOPEN */, 26 /* NOTADB */,
]);

/** Whether an error comes from the disk and not from one change. */
export function isDiskError(error: unknown): boolean {
  const code = (error as { errcode?: unknown } | undefined)?.errcode;
  return typeof code === "number" && DISK_CODES.has(code & 0xff);
}

/** Whether the disk was full before anything of the transaction was stored. */
export const isFullError = (error: unknown): boolean =>
  (Number((error as { errcode?: unknown } | undefined)?.errcode ?? 0) & 0xff) === 13;

/** The typed error for a disk error, and whether the process must end. `isFull`: the disk has no room, even if the error says something else. */
export function explainDiskError(error: unknown, isFull = false): { explained: RookeryError; fatal: boolean } {
  const code = Number((error as { errcode?: unknown }).errcode ?? 0);
  const text = (error as Error).message;
  const primary = code & 0xff;
  if (primary === 13 || primary === 8 || primary === 14) {
    const what = primary === 13 ? "The disk is full" : "The disk cannot be written";
    return {
      explained: new StoreFullError(`${what}: ${text}. Nothing of this change was stored.`, {
        cause: error,
        hint: "Make room or restore the permissions of the home. Work then continues automatically.",
      }),
      fatal: false,
    };
  }
  if (isFull) {
    // The log's index could not grow after the change was written: only the next start knows whether it counts.
    return {
      explained: new StoreFullError(`The disk is full: ${text}. The process ends, because the outcome is unknown.`, {
        cause: error,
        hint: "Make room and start again. Nothing that was acknowledged is lost.",
      }),
      fatal: true,
    };
  }
  return {
    explained: new StoreUnreadableError(`The database failed: ${text}.`, {
      cause: error,
      hint: "Stop the program and run `rookery engine repair`; it keeps the broken file.",
    }),
    fatal: true,
  };
}
