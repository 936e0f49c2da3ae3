/** Where processes died: scenario × commit site × (before, after). A place never hit is a place never tested. */
import type { Moment } from "./process.ts";
import type { Job, Report } from "./report.ts";

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

/** Worlds that die in the holes: seeds that are known to pass there first, then others. */
export function jobsForHoles(report: Report, subject: string, round: number, freshSeed: number): readonly Job[] {
  return holesIn(report).map(({ scenario, site, moment }) => ({
    seed: report.witnesses[scenario]?.[site]?.[round] ?? freshSeed + round,
    scenario,
    subject,
    aim: { site, moment },
  }));
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
