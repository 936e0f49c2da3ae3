/** The watchdog's note in the home: written durably before the process is ended, read at the next start. */
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeSync } from "node:fs";
import { dirname } from "node:path";

/** The watchdog's thread loads this file: it must not load much. */
export interface EndedNote {
  /** `blocked`: the event loop stood still. `drain`: a stop took longer than allowed. */
  readonly why: "blocked" | "drain";
  readonly at: number;
  readonly seconds: number;
  /** Absent if no run can be blamed for certain. */
  readonly agentId?: string;
  readonly runId?: string;
  readonly phase?: string;
}

/** Durable when it returns. */
export function writeNote(path: string, note: EndedNote): void {
  const made = `${path}.new`;
  const file = openSync(made, "w", 0o600);
  try {
    writeSync(file, `${JSON.stringify(note)}\n`);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(made, path);
  const directory = openSync(dirname(path), "r");
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}

/** Undefined if there is none, or if it cannot be read: a note only helps. */
export function readNote(path: string): EndedNote | undefined {
  try {
    const note = JSON.parse(readFileSync(path, "utf8")) as EndedNote;
    return (note.why === "blocked" || note.why === "drain") && Number.isFinite(note.at) ? note : undefined;
  } catch {
    return undefined;
  }
}

export const removeNote = (path: string): void => rmSync(path, { force: true });
