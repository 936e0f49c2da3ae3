/** Where processes died: scenario × commit site × (before, after). A place never hit is a place never tested. */

import type { Job, Report } from "./report.ts";
import type { Moment } from "./world/process.ts";

interface Hole {
  readonly scenario: string;
  readonly site: string;
  readonly moment: Moment;
}

export function holesIn(report: Report): readonly Hole[] {
  return Object.entries(report.coverage).flatMap(([scenario, cells]) =>
    Object.entries(cells)
      .filter(([, count]) => count === 0)
      .map(([cell]) => {
        const [site = "", moment] = cell.split("|");
        return { scenario, site, moment: moment === "after" ? "after" : "before" };
      }),
  );
}

/** How many worlds are tried for a place before it counts as never hit. */
const TRIES = 12;

/** Which worlds were already tried for which place. */
export type Tried = Map<string, Set<string>>;

/**
 * Worlds that crash at the missing places: worlds known to pass there, with the crashes that led there and one more. If
 * all were tried, new worlds. None for a place that was tried often enough.
 */
export function jobsForHoles(
  report: Report,
  like: Pick<Job, "subject" | "onFile" | "postgres">,
  tried: Tried,
  freshSeed: number,
): readonly Job[] {
  return holesIn(report).flatMap(({ scenario, site, moment }) => {
    const hole = `${scenario}|${site}|${moment}`;
    const before = tried.get(hole) ?? new Set();
    if (before.size >= TRIES) return [];
    const known = report.witnesses[scenario]?.[site] ?? [];
    const fresh = { seed: freshSeed + before.size, aims: [] };
    const { seed, aims } = known.find((witness) => !before.has(JSON.stringify(witness))) ?? fresh;
    tried.set(hole, new Set([...before, JSON.stringify({ seed, aims })]));
    return [{ seed, scenario, aims: [...aims, { site, moment }], ...like }];
  });
}

export function coverageTable(report: Report): string {
  const scenarios = Object.keys(report.coverage).sort();
  const lines = ["Deaths at each commit site, before/after:"];
  for (const scenario of scenarios) {
    const cells = report.coverage[scenario] ?? {};
    const sites = [...new Set(Object.keys(cells).map((cell) => cell.split("|")[0] ?? ""))].sort();
    const words = sites.map((site) => `${site} ${cells[`${site}|before`] ?? 0}/${cells[`${site}|after`] ?? 0}`);
    let line = `  ${scenario.padEnd(16)}`;
    for (const word of words) {
      if (line.length + word.length > 118) {
        lines.push(line);
        line = " ".repeat(18);
      }
      line += `${word}  `;
    }
    lines.push(line.trimEnd());
  }
  return lines.join("\n");
}
