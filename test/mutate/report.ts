/** How many mutants of each folder the tests found, and the list of those that no test found. */
import type { Mutant } from "./mutant.ts";
import { folderOf } from "./plan.ts";
import { isTried, type Results } from "./results.ts";

export function table(mutants: readonly Mutant[], results: Results): string {
  const folders = [...Map.groupBy(mutants, ({ file }) => folderOf(file))].toSorted(([one], [other]) =>
    one.localeCompare(other),
  );
  const rows = [...folders, ["all", mutants] as const].map(([folder, all]) => {
    const tried = all.filter((one) => isTried(results.get(one)));
    const found = tried.filter((one) => results.get(one)?.found);
    const untried = all.length - tried.length;
    const rest = untried === 0 ? "" : `  ${untried} not tried`;
    return `${folder.padEnd(28)} ${String(found.length).padStart(4)} of ${String(tried.length).padStart(4)} found${rest}`;
  });
  return rows.join("\n");
}

/** Sorted by file and line. */
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

function short(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > 150 ? `${line.slice(0, 147)}…` : line;
}
