/** The input of the processes that try many mutants, and the journal that each of them writes. */
import { closeSync, existsSync, fstatSync, openSync, readSync } from "node:fs";

export interface Batch {
  /** The mutants that are open; their numbers stay the same while the batch is tried. */
  readonly numbers: readonly number[];
  /** How many milliseconds of its own time a test of a kind may take for a mutant. */
  readonly budgets: Readonly<Record<Kind, number>>;
  /** By folder: the mutants in it. */
  readonly near: Readonly<Record<string, readonly number[]>>;
  /** By file: the source with all its mutants behind switches. */
  readonly sources: Readonly<Record<string, string>>;
}

/** A test in the mutant's folder, another beside the sources, the simulation, or one of whole systems. */
export type Kind = "near" | "source" | "simulation" | "system";

export function kindOf(test: string): Kind {
  if (test.startsWith("src/")) return "source";
  return test.startsWith("test/sim/") ? "simulation" : "system";
}

export type JournalLine =
  | { readonly try: number; readonly limitMs: number; readonly pid: number }
  | { readonly tried: number; readonly kind: Kind; readonly ms: number; readonly test: string }
  | { readonly found: number; readonly by: string }
  /** The test cannot be repeated in its process, or failed with the mutant and also without it: try it in a fresh one. */
  | { readonly unsure: number; readonly by: string }
  | { readonly hung: number }
  /** A test file has ended: how long one of its tests and all of them take without a mutant, and the mutants they met. */
  | { readonly file: string; readonly testMs: number; readonly ms: number; readonly met: readonly number[] };

/** The lines that were added since the last call. */
export function follow(path: string): () => readonly JournalLine[] {
  let offset = 0;
  let rest = "";
  return () => {
    if (!existsSync(path)) return [];
    const file = openSync(path, "r");
    try {
      const bytes = Buffer.alloc(Math.max(0, fstatSync(file).size - offset));
      offset += readSync(file, bytes, 0, bytes.length, offset);
      const lines = (rest + bytes.toString("utf8")).split("\n");
      rest = lines.pop() ?? "";
      return lines.filter((line) => line.endsWith("}")).map((line) => JSON.parse(line) as JournalLine);
    } finally {
      closeSync(file);
    }
  };
}

export function linesOf(path: string): readonly JournalLine[] {
  return follow(path)();
}
