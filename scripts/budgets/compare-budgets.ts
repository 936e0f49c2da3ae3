/**
 * Compares counts with the committed budgets. A count must equal its budget: a higher one is a step back, a lower one is written
 * down at once, so that the next change cannot use it up.
 */
import type { Counts } from "./hits.ts";

/** Reads the committed budgets line by line. Where a merge left both sides, the lower number counts. */
export function readBudgets(json: string): Counts {
  const budgets = new Map<string, number>();
  for (const [, key = "", number] of json.matchAll(/^\s*"([^"]+)": (\d+),?$/gm)) {
    budgets.set(key, Math.min(Number(number), budgets.get(key) ?? Number.POSITIVE_INFINITY));
  }
  return budgets;
}

/** One line per folder and kind, sorted, so that parallel changes of different folders merge. */
export const printBudgets = (counts: Counts): string =>
  `${JSON.stringify(Object.fromEntries([...counts].sort(([a], [b]) => (a < b ? -1 : 1))), null, 2)}\n`;

export interface Change {
  readonly folder: string;
  readonly kind: string;
  readonly budget: number;
  readonly count: number;
}

/** The folders and kinds whose count is not the budget. A folder without a line has a budget of 0. */
export function changedCounts(budgets: Counts, counts: Counts): readonly Change[] {
  return [...new Set([...budgets.keys(), ...counts.keys()])].sort().flatMap((key) => {
    const [folder = "", kind = ""] = key.split(" ");
    const change = { folder, kind, budget: budgets.get(key) ?? 0, count: counts.get(key) ?? 0 };
    return change.count === change.budget ? [] : [change];
  });
}

/** The budgets after `--write`: lower where a count fell, never higher. */
export const lowerBudgets = (budgets: Counts, counts: Counts): Counts =>
  new Map(
    [...budgets]
      .map(([key, budget]) => [key, Math.min(budget, counts.get(key) ?? 0)] as const)
      .filter(([, budget]) => budget > 0),
  );

export function describeChange({ folder, kind, budget, count }: Change): string {
  const command =
    count > budget ? `npm run tool -- budgets --list ${kind} ${folder}` : "npm run tool -- budgets --write";
  const task = count > budget ? "to see them" : "to lower the budget";
  return `${folder}: ${kind} ${count > budget ? "rose" : "fell"} from ${budget} to ${count}. Run "${command}" ${task}.`;
}
