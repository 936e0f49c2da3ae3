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

export function report(
  mutants: readonly Mutant[],
  results: Results,
  equivalent: number,
): { table: string; isGood: boolean } {
  const folders = new Map<string, Count>();
  const survivors: string[] = [];
  const total: Count = { found: 0, all: 0 };
  let refused = 0;
  for (const one of mutants) {
    const outcome = results.get(one);
    if (outcome && "refused" in outcome) {
      refused += 1;
      continue;
    }
    const count = folders.get(folderOf(one.file)) ?? { found: 0, all: 0 };
    folders.set(folderOf(one.file), count);
    for (const each of [count, total]) {
      each.all += 1;
      each.found += outcome?.found ? 1 : 0;
    }
    if (!outcome?.found)
      survivors.push(
        `${one.id} (${outcome?.why ?? "not tried"})\n    - ${short(one.original)}\n    + ${short(one.replacement)}`,
      );
  }
  const rows = [...folders]
    .toSorted(([one], [other]) => one.localeCompare(other))
    .map(([folder, count]) => row(folder, count));
  const isGood =
    share(total) >= GOAL && [...folders.values()].every((count) => count.all < ENOUGH || share(count) >= FOLDER_GOAL);
  const head = survivors.length === 0 ? [] : ["", "Not found:", ...survivors.map((one) => `  ${one}`)];
  const left = `${refused} more do not compile, ${equivalent} change nothing (equivalent.json).`;
  return { table: [...head, "", ...rows, row("all", total), "", left].join("\n"), isGood };
}

/** `core`, a room of the engine, or a store. */
function folderOf(file: string): string {
  const [, layer = "", room = "", part = ""] = file.split("/");
  if (layer === "core") return "core";
  if (layer === "adapters") return `${layer}/${room}/${part.includes(".") ? "" : part}`;
  return `${layer}/${room}`;
}

function share({ found, all }: Count): number {
  return all === 0 ? 1 : found / all;
}

function row(name: string, count: Count): string {
  return `${name.padEnd(32)} ${String(count.found).padStart(4)} of ${String(count.all).padStart(4)}  ${(share(count) * 100).toFixed(0).padStart(3)} %`;
}

function short(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > 110 ? `${line.slice(0, 107)}…` : line;
}
