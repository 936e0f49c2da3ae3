/**
 * The log: one line of JSON per event, written at once, so that a kill loses none. A file that grows too large is rotated.
 * Never throws: on a full disk, lines of the file are lost. Secrets are masked by their type or by their form.
 */
import { closeSync, fstatSync, openSync, renameSync, writeSync } from "node:fs";
import type { Log, LogFields, LogLevel, LogLine } from "../../core/ports/log.ts";

const ORDER: readonly LogLevel[] = ["debug", "info", "warn", "error"];

interface JsonLogOptions {
  readonly file: string;
  /** A function if the level may change while the process runs. */
  readonly level: LogLevel | (() => LogLevel);
  /** Also receives warnings and errors. */
  readonly errors?: { write(text: string): unknown };
  /** How large a file may grow, and how many rotated files are kept. Default: 10 MB, 4. */
  readonly maxBytes?: number;
  readonly keep?: number;
}

const MAX_BYTES = 10_000_000;
const KEEP = 4;
/** How many of the latest lines are kept in memory, for people who look at them. */
const KEPT = 500;

/** The forms of tokens and keys, in case a foreign text contains one. */
const SECRET_SHAPED =
  /\brk_[a-z0-9]{12}_[A-Za-z0-9_-]{20,}|\b(?:sk|pk|gsk|xai)-[A-Za-z0-9_-]{16,}|\bAIza[\w-]{20,}|\bgh[pousr]_[A-Za-z0-9]{20,}|\bAKIA[A-Z0-9]{16}\b|\bxox[abprs]-[A-Za-z0-9-]{10,}|\b\d{8,12}:[A-Za-z0-9_-]{30,}|\bBearer\s+[\w.~+/-]{8,}=*/g;

/** The name and the password in an address. */
const PASSWORD_IN_URL = /:\/\/[^\s/:@"]{0,64}:[^\s/:@"]{1,128}@/g;

interface JsonLog extends Log {
  /** Closes the file. Later lines are kept in memory, and warnings and errors are still shown. */
  close(): void;
}

export function jsonLog({ file, level, errors, maxBytes = MAX_BYTES, keep = KEEP }: JsonLogOptions): JsonLog {
  let fd: number | undefined;
  let size = 0;
  let written = 0;
  const kept: LogLine[] = [];
  const open = (): void => {
    try {
      fd = openSync(file, "a", 0o600);
      size = fstatSync(fd).size;
    } catch {
      fd = undefined;
      try {
        errors?.write(`The log ${file} cannot be written.\n`);
      } catch {
        // There is no other place to report it.
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
        // This file does not exist yet.
      }
    }
    open();
  };
  open();
  const write = (at: LogLevel, message: string, fields: LogFields = {}): void => {
    if (ORDER.indexOf(at) < ORDER.indexOf(typeof level === "function" ? level() : level)) return;
    try {
      const line = maskSecrets(`${JSON.stringify({ at: new Date().toISOString(), level: at, message, ...fields })}\n`);
      kept.push({ n: ++written, text: line.trimEnd() });
      if (kept.length > 2 * KEPT) kept.splice(0, KEPT);
      if (fd !== undefined && size > 0 && size + line.length > maxBytes) rotate();
      if (fd !== undefined) size += writeSync(fd, line);
    } catch {
      // A log that cannot be written must not stop the program.
    }
    try {
      // Also if the file could not be written: a full disk is reported here.
      if (errors && (at === "warn" || at === "error"))
        errors.write(maskSecrets(`${at}: ${message}${fieldsText(fields)}\n`));
    } catch {
      // There is no other place to report it.
    }
  };
  return {
    debug: (message, fields) => write("debug", message, fields),
    info: (message, fields) => write("info", message, fields),
    warn: (message, fields) => write("warn", message, fields),
    error: (message, fields) => write("error", message, fields),
    recent: () => kept,
    close: () => {
      if (fd !== undefined) closeSync(fd);
      fd = undefined;
    },
  };
}

/** A text with everything that has the form of a key, a token or a password in an address replaced. */
export const maskSecrets = (text: string): string =>
  text.replace(SECRET_SHAPED, "***").replace(PASSWORD_IN_URL, "://***@");

function fieldsText(fields: LogFields): string {
  const known = Object.entries(fields).filter(([, value]) => value !== undefined);
  return known.length === 0 ? "" : ` (${known.map(([name, value]) => `${name}: ${value}`).join(", ")})`;
}
