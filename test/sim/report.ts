/** What many worlds add up to: failures with the command that replays each, coverage of crash places, counts. Plain data. */
import type { Violation } from "./auditor.ts";
import type { CrashAim } from "./crash-plan.ts";
import { SCENARIOS } from "./scenarios.ts";
import { SUBJECTS, subjectNamed } from "./subjects.ts";
import { runWorld } from "./world.ts";

/** One world to run. */
export interface Job {
  readonly seed: number;
  readonly scenario: string;
  readonly subject: string;
  readonly aim?: CrashAim;
}

export interface Failure {
  readonly job: Job;
  readonly violations: readonly Violation[];
  readonly lines: readonly string[];
}

export interface Report {
  runs: number;
  readonly failures: Failure[];
  /** scenario → `site|before` → how often a process died there. */
  readonly coverage: Record<string, Record<string, number>>;
  /** scenario → site → some seeds that pass there. */
  readonly witnesses: Record<string, Record<string, number[]>>;
  readonly counts: Record<string, number>;
}

const WITNESSES = 6;

export const emptyReport = (): Report => ({ runs: 0, failures: [], coverage: {}, witnesses: {}, counts: {} });

/** The one command that runs this very world again. */
export function replayCommand({ seed, scenario, subject, aim }: Job): string {
  const other = subject === SUBJECTS[0]?.name ? "" : ` --subject ${subject}`;
  const crash = aim ? ` --crash ${aim.moment}:${aim.site}` : "";
  return `npm run sim -- --seed ${seed} --scenario ${scenario}${other}${crash}`;
}

export async function runJobs(jobs: readonly Job[], onLine?: (line: string) => void): Promise<Report> {
  const report = emptyReport();
  for (const job of jobs) {
    const scenario = SCENARIOS.find(({ name }) => name === job.scenario);
    if (!scenario) throw new Error(`There is no scenario ${job.scenario}.`);
    const world = { seed: job.seed, scenario, subject: subjectNamed(job.subject), aim: job.aim };
    const { violations, coverage, counts, lines } = await runWorld(world);
    for (const line of onLine ? lines : []) onLine?.(line);
    const witnesses: Record<string, number[]> = {};
    for (const cell of coverage.keys()) witnesses[cell.split("|")[0] ?? cell] = [job.seed];
    merge(report, {
      runs: 1,
      failures: violations.length > 0 ? [{ job, violations, lines }] : [],
      coverage: { [job.scenario]: Object.fromEntries(coverage) },
      witnesses: { [job.scenario]: witnesses },
      counts,
    });
  }
  return report;
}

export function merge(into: Report, from: Report): void {
  into.runs += from.runs;
  into.failures.push(...from.failures);
  add(into.counts, from.counts);
  for (const [scenario, cells] of Object.entries(from.coverage)) {
    into.coverage[scenario] ??= {};
    add(into.coverage[scenario], cells);
  }
  for (const [scenario, sites] of Object.entries(from.witnesses)) {
    const known = into.witnesses[scenario] ?? {};
    into.witnesses[scenario] = known;
    for (const [site, seeds] of Object.entries(sites)) {
      known[site] = [...new Set([...(known[site] ?? []), ...seeds])].slice(0, WITNESSES);
    }
  }
}

function add(into: Record<string, number>, from: Readonly<Record<string, number>>): void {
  for (const [key, count] of Object.entries(from)) into[key] = (into[key] ?? 0) + count;
}
