/** The log: a line of JSON per event, written at once so that a kill loses none. Never throws: a full disk loses log lines. */
import { openSync, writeSync } from "node:fs";
import type { Log, LogFields, LogLevel } from "../core/log.ts";

const ORDER: readonly LogLevel[] = ["debug", "info", "warn", "error"];

export interface JsonLogOptions {
  readonly file: string;
  readonly level: LogLevel;
  /** Where warnings and errors are also shown to a person. */
  readonly errors?: { write(text: string): unknown };
}

export function jsonLog({ file, level, errors }: JsonLogOptions): Log {
  let fd: number | undefined;
  try {
    fd = openSync(file, "a", 0o600);
  } catch {
    try {
      errors?.write(`The log ${file} cannot be written.\n`);
    } catch {
      // Nobody is left to be told.
    }
  }
  const write = (at: LogLevel, message: string, fields: LogFields = {}): void => {
    if (ORDER.indexOf(at) < ORDER.indexOf(level)) return;
    try {
      if (fd !== undefined)
        writeSync(fd, `${JSON.stringify({ at: new Date().toISOString(), level: at, message, ...fields })}\n`);
      if (errors && (at === "warn" || at === "error")) errors.write(`${at}: ${message}${told(fields)}\n`);
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

function told(fields: LogFields): string {
  const known = Object.entries(fields).filter(([, value]) => value !== undefined);
  return known.length === 0 ? "" : ` (${known.map(([name, value]) => `${name}: ${value}`).join(", ")})`;
}
