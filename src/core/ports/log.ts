/** The log. Fields are data, never secrets; writing never throws and never waits. */
export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** The latest lines, oldest first, as they were written; absent if they are not kept. */
  recent?(): readonly LogLine[];
}

/** A written line. `n` rises with each. */
export interface LogLine {
  readonly n: number;
  readonly text: string;
}

export type LogFields = Readonly<Record<string, string | number | boolean | undefined>>;
export type LogLevel = Exclude<keyof Log, "recent">;

export const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {} };
