/** The log. Fields are data, never secrets; writing never throws and never waits. */
export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

export type LogFields = Readonly<Record<string, string | number | boolean | undefined>>;
export type LogLevel = keyof Log;

export const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {} };
