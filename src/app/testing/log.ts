/** A log that keeps its lines for the test. */
import type { Log, LogFields } from "../../core/ports/log.ts";

export interface LogLine {
  readonly level: string;
  readonly message: string;
  readonly fields: LogFields | undefined;
}

export function recordingLog(lines: LogLine[]): Log {
  const write = (level: string) => (message: string, fields?: LogFields) => {
    lines.push({ level, message, fields });
  };
  return { debug: write("debug"), info: write("info"), warn: write("warn"), error: write("error") };
}
