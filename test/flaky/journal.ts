/** What every repetition of a file brought, one line of JSON each, so that a run that was interrupted continues. */
import { appendFileSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

export interface Failure {
  readonly test: string;
  readonly message: string;
}

export interface Repetition {
  readonly time: number;
  readonly file: string;
  /** When it ended, to compare with what else the machine did. */
  readonly at: string;
  readonly seconds: number;
  readonly failures: readonly Failure[];
}

export interface Journal {
  has(time: number, file: string): boolean;
  add(repetitions: readonly Repetition[]): void;
  all(): readonly Repetition[];
}

export function openJournal(directory: string): Journal {
  mkdirSync(directory, { recursive: true });
  const path = join(directory, "repetitions.jsonl");
  const repetitions = [...read(path)];
  return {
    has: (time, file) => repetitions.some((one) => one.time === time && one.file === file),
    add: (added) => {
      repetitions.push(...added);
      appendFileSync(path, added.map((one) => `${JSON.stringify(one)}\n`).join(""));
    },
    all: () => repetitions,
  };
}

function read(path: string): readonly Repetition[] {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch {
    return [];
  }
  // A line that was cut off is a repetition that is done again.
  return text.split("\n").flatMap((line) => {
    try {
      return [JSON.parse(line) as Repetition];
    } catch {
      return [];
    }
  });
}
