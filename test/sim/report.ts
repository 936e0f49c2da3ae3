/** The report of many worlds: failures with the command that replays each, coverage of crash places, counts. Plain data. */
import type { Violation } from "./audit/audit-view.ts";
import { scenarioNamed } from "./scenarios/scenarios.ts";
import { SUBJECTS, subjectNamed } from "./subjects/subjects.ts";
import type { CrashAim } from "./world/crash-plan.ts";
import { runWorld } from "./world/run-world.ts";

/** One world to run. */
export interface Job {
  readonly seed: number;
  readonly scenario: string;
  readonly subject: string;
  readonly aims?: readonly CrashAim[];
  readonly onFile?: boolean;
  /** The address of a PostgreSQL server. */
  readonly postgres?: string;
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
  /** scenario → site → some worlds that pass there: the seed, and the crashes that were aimed in it. */
  readonly witnesses: Record<string, Record<string, Witness[]>>;
  readonly counts: Record<string, number>;
}

/** Seed and aimed crashes identify a world: without the crashes it may never reach the same place again. */
export interface Witness {
  readonly seed: number;
  readonly aims: readonly CrashAim[];
}

const WITNESSES = 12;

export const emptyReport = (): Report => ({ runs: 0, failures: [], coverage: {}, witnesses: {}, counts: {} });

/** The command that runs exactly this world again. */
export function replayCommand({ seed, scenario, subject, aims = [], onFile, postgres }: Job): string {
  const other = subject === SUBJECTS[0]?.name ? "" : ` --subject ${subject}`;
  const crash = aims.map(({ moment, site }) => ` --crash ${moment}:${site}`).join("");
  const file = onFile ? " --file" : postgres ? " --store postgres" : "";
  return `npm run sim -- --seed ${seed} --scenario ${scenario}${other}${file}${crash}`;
}

export async function runJobs(jobs: readonly Job[], onLine?: (line: string) => void): Promise<Report> {
  const report = emptyReport();
  for (const job of jobs) {
    const scenario = scenarioNamed(job.scenario);
    const world = {
      seed: job.seed,
      scenario,
      subject: subjectNamed(job.subject),
      aims: job.aims,
      onFile: job.onFile,
      postgres: job.postgres,
    };
    const { violations, coverage, counts, lines } = await runWorld(world);
    for (const line of onLine ? lines : []) onLine?.(line);
    const witnesses: Record<string, Witness[]> = {};
    const witness = { seed: job.seed, aims: job.aims ?? [] };
    for (const cell of coverage.keys()) witnesses[cell.split("|")[0] ?? cell] = [witness];
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
    for (const [site, worlds] of Object.entries(sites)) {
      // Worlds without an aim first: they are the simplest to replay.
      const all = [...(known[site] ?? []), ...worlds].sort((a, b) => a.aims.length - b.aims.length);
      known[site] = all.slice(0, WITNESSES);
    }
  }
}

function add(into: Record<string, number>, from: Readonly<Record<string, number>>): void {
  for (const [key, count] of Object.entries(from)) into[key] = (into[key] ?? 0) + count;
}
