/**
 * The log: a line of JSON per event, written at once so that a kill loses none. A file that has grown too large is set aside
 * and a new one begun. Never throws: a full disk loses log lines. What is a secret by its type or its form is masked.
 */
import { closeSync, fstatSync, openSync, renameSync, writeSync } from "node:fs";
import type { Log, LogFields, LogLevel } from "../../core/ports/log.ts";

const ORDER: readonly LogLevel[] = ["debug", "info", "warn", "error"];

export interface JsonLogOptions {
  readonly file: string;
  /** A function where it may change while we run. */
  readonly level: LogLevel | (() => LogLevel);
  /** Where warnings and errors are also shown to a person. */
  readonly errors?: { write(text: string): unknown };
  /** How large a file may grow, and how many are kept beside it. Default: 10 MB, 4. */
  readonly maxBytes?: number;
  readonly keep?: number;
}

const MAX_BYTES = 10_000_000;
const KEEP = 4;

/** Forms of tokens and keys, in case one is in a text that somebody else made. */
const SECRET_SHAPED =
  /\brk_[a-z0-9]{12}_[A-Za-z0-9_-]{20,}|\b(?:sk|pk|gsk|xai)-[A-Za-z0-9_-]{16,}|\bAIza[\w-]{20,}|\bBearer\s+[\w.~+/-]{8,}=*/g;

export function jsonLog({ file, level, errors, maxBytes = MAX_BYTES, keep = KEEP }: JsonLogOptions): Log {
  let fd: number | undefined;
  let size = 0;
  const open = (): void => {
    try {
      fd = openSync(file, "a", 0o600);
      size = fstatSync(fd).size;
    } catch {
      fd = undefined;
      try {
        errors?.write(`The log ${file} cannot be written.\n`);
      } catch {
        // Nobody is left to be told.
      }
    }
  };
  const rotate = (): void => {
    if (fd !== undefined) closeSync(fd);
    fd = undefined;
    for (let n = keep; n > 0; n--) {
      try {
        renameSync(n === 1 ? file : `${file}.${n - 1}`, `${file}.${n}`);
      } catch {
        // There are not so many yet.
      }
    }
    open();
  };
  open();
  const write = (at: LogLevel, message: string, fields: LogFields = {}): void => {
    if (ORDER.indexOf(at) < ORDER.indexOf(typeof level === "function" ? level() : level)) return;
    try {
      const line = masked(`${JSON.stringify({ at: new Date().toISOString(), level: at, message, ...fields })}\n`);
      if (fd !== undefined && size > 0 && size + line.length > maxBytes) rotate();
      if (fd !== undefined) size += writeSync(fd, line);
      if (errors && (at === "warn" || at === "error")) errors.write(masked(`${at}: ${message}${told(fields)}\n`));
    } catch {
      // Nothing better can be done about a log that cannot be written.
    }
  };
  return {
    debug: (message, fields) => write("debug", message, fields),
    info: (message, fields) => write("info", message, fields),
    warn: (message, fields) => write("warn", message, fields),
    error: (message, fields) => write("error", message, fields),
  };
}

const masked = (text: string): string => text.replace(SECRET_SHAPED, "***");

function told(fields: LogFields): string {
  const known = Object.entries(fields).filter(([, value]) => value !== undefined);
  return known.length === 0 ? "" : ` (${known.map(([name, value]) => `${name}: ${value}`).join(", ")})`;
}
