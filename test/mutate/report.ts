/** The score per folder, and the mutants that no test found, with what stands there instead. */
import type { Mutant } from "./mutant.ts";
import type { Results } from "./results.ts";

const GOAL = 0.85;
const FOLDER_GOAL = 0.75;
/** A folder with fewer mutants than this says nothing. */
const ENOUGH = 4;

interface Count {
  found: number;
  all: number;
}

export function report(mutants: readonly Mutant[], results: Results): { table: string; isGood: boolean } {
  const folders = new Map<string, Count>();
  const total: Count = { found: 0, all: 0 };
  for (const one of mutants) {
    const count = folders.get(folderOf(one.file)) ?? { found: 0, all: 0 };
    folders.set(folderOf(one.file), count);
    for (const each of [count, total]) {
      each.all += 1;
      each.found += results.get(one)?.found ? 1 : 0;
    }
  }
  const rows = [...folders]
    .toSorted(([one], [other]) => one.localeCompare(other))
    .map(([folder, count]) => row(folder, count));
  const isGood =
    share(total) >= GOAL && [...folders.values()].every((count) => count.all < ENOUGH || share(count) >= FOLDER_GOAL);
  return { table: [...rows, row("all", total)].join("\n"), isGood };
}

/** By folder and line. */
export function survivors(mutants: readonly Mutant[], results: Results): readonly string[] {
  return mutants
    .filter((one) => !results.get(one)?.found)
    .toSorted((one, other) => one.file.localeCompare(other.file) || one.line - other.line)
    .map((one) => {
      const verdict = results.get(one);
      const why = verdict && !verdict.found ? verdict.why : "not tried";
      return `${one.id} (${why})\n    - ${short(one.original)}\n    + ${short(one.replacement)}`;
    });
}

/** `core`, a room of the engine, or a store. Files between the rooms belong together. */
function folderOf(file: string): string {
  const [, layer = "", room = "", part = ""] = file.split("/");
  if (layer === "core") return "core";
  if (layer === "adapters") return `${layer}/${room}/${part.includes(".") ? "" : part}`;
  return `${layer}/${room.includes(".") ? "" : room}`;
}

function share({ found, all }: Count): number {
  return all === 0 ? 1 : found / all;
}

function row(name: string, count: Count): string {
  return `${name.padEnd(32)} ${String(count.found).padStart(4)} of ${String(count.all).padStart(4)}  ${(share(count) * 100).toFixed(0).padStart(3)} %`;
}

function short(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > 150 ? `${line.slice(0, 147)}…` : line;
}
