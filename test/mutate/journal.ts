/** What a process that tries many mutants reads, and what it writes while it does. */
import { existsSync, readFileSync } from "node:fs";

export interface Batch {
  readonly numbers: readonly number[];
  /** How many milliseconds the tests that are not near a mutant may take for it. */
  readonly budgetMs: number;
  /** By folder: the mutants in it. */
  readonly near: Readonly<Record<string, readonly number[]>>;
  readonly mutants: Readonly<Record<string, readonly { readonly number: number; readonly mutant: unknown }[]>>;
}

export type JournalLine =
  | { readonly try: number; readonly limitMs: number }
  | { readonly tried: number }
  | { readonly found: number; readonly by: string }
  /** The test failed with the mutant and also without it afterwards. */
  | { readonly unsure: number; readonly by: string }
  | { readonly hung: number }
  /** A test file has ended; how long one of its tests takes without a mutant. */
  | { readonly file: string; readonly testMs: number };

export function linesOf(path: string): readonly JournalLine[] {
  if (!existsSync(path)) return [];
  return readFileSync(path, "utf8")
    .split("\n")
    .filter((line) => line.endsWith("}"))
    .map((line) => JSON.parse(line) as JournalLine);
}
