/** `npm run sim`: runs worlds, prints the report, and exits with 1 if a law was broken or a crash place was never hit. */
import { fork } from "node:child_process";
import { availableParallelism } from "node:os";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { readCommandLine } from "../kit/command-line.ts";
import { startServer } from "../postgres/server.ts";
import { coverageTable, holesIn, jobsForHoles, type Tried } from "./coverage.ts";
import { emptyReport, type Failure, type Job, merge, type Report, replayCommand, runJobs } from "./report.ts";
import { SCENARIOS, scenariosFor } from "./scenarios/scenarios.ts";
import { SUBJECTS, subjectNamed } from "./subjects/subjects.ts";
import type { CrashAim } from "./world/crash-plan.ts";
import { closePostgres } from "./world/postgres-database.ts";

/** From this number of seeds on, a crash place that was never hit is a failure. */
const SEEDS_FOR_COVERAGE = 200;
const PORTION = 10;

const { values } = readCommandLine({
  name: "sim",
  about: "Runs made-up worlds, kills them at chosen moments, and looks for broken laws and for crash places never hit.",
  options: {
    seeds: { kind: "count", least: 1, about: "How many worlds; 100, or one if a seed is given." },
    seed: { kind: "count", least: 0, about: "The number of the first world." },
    scenario: {
      ...{ kind: "text", shown: "NAME", about: "Only worlds of this kind." },
      oneOf: SCENARIOS.map(({ name }) => name),
    },
    subject: { kind: "text", shown: "NAME", oneOf: SUBJECTS.map(({ name }) => name), about: "What is tried." },
    crash: { kind: "texts", shown: "before:SITE", about: "Kills at this place, before or after its commit." },
    file: { kind: "flag", about: "Keeps the store on disk instead of in memory." },
    store: { kind: "text", shown: "NAME", oneOf: ["postgres"], about: "Another store than SQLite." },
    jobs: { kind: "count", least: 1, about: "How many processes; two, or one on one processor." },
    verbose: { kind: "flag", about: "Prints what happens in up to ten worlds." },
  },
});
const server = values.store && !process.env.ROOKERY_TEST_POSTGRES ? await startServer() : undefined;
const postgres = values.store ? (process.env.ROOKERY_TEST_POSTGRES ?? server?.url) : undefined;
try {
  process.exitCode = await main();
} finally {
  await closePostgres();
  await server?.stop();
}

async function main(): Promise<number> {
  const subject = subjectNamed(values.subject);
  const first = values.seed ?? 1;
  const seeds = values.seeds ?? (values.seed === undefined ? 100 : 1);
  const scenarios = values.scenario
    ? SCENARIOS.filter(({ name }) => name === values.scenario)
    : scenariosFor(subject.features);
  const aims = (values.crash ?? []).map((text): CrashAim => {
    const [moment, site = ""] = text.split(":");
    return { site, moment: moment === "after" ? "after" : "before" };
  });
  const like = { subject: subject.name, onFile: values.file || undefined, postgres };
  const jobs = Array.from({ length: seeds }, (_, index): Job => {
    const seed = first + index;
    const scenario = scenarios[seed % scenarios.length] ?? scenarios[0];
    return { seed, scenario: scenario?.name ?? "", ...like, aims: aims.length > 0 ? aims : undefined };
  });

  const began = performance.now();
  const report = emptyReport();
  if (seeds <= PORTION) merge(report, await runJobs(jobs, values.verbose ? (line) => console.log(line) : undefined));
  else await runParallel(report, jobs, seeds);
  const planned = report.runs;
  const seconds = (performance.now() - began) / 1000;

  const demanding = seeds >= SEEDS_FOR_COVERAGE;
  const tried: Tried = new Map();
  for (let jobsLeft = demanding; jobsLeft; ) {
    const more = jobsForHoles(report, like, tried, first + seeds);
    await runParallel(report, more, 0);
    jobsLeft = more.length > 0;
  }
  const holes = demanding ? holesIn(report) : [];
  return summary(
    report,
    planned,
    seconds,
    holes.map(({ scenario, site: at, moment: when }) => `${scenario}: ${when} ${at}`),
  );
}

/** Sends portions to worker processes until all are done. */
async function runParallel(report: Report, jobs: readonly Job[], announced: number): Promise<void> {
  const portions: (readonly Job[])[] = [];
  for (let at = 0; at < jobs.length; at += PORTION) portions.push(jobs.slice(at, at + PORTION));
  const workers = Math.min(values.jobs ?? Math.min(2, availableParallelism()), portions.length);
  const began = performance.now();
  let reportedAt = began;
  const path = fileURLToPath(new URL("./worker.ts", import.meta.url));
  await Promise.all(
    Array.from({ length: workers }, () => {
      const worker = fork(path);
      return new Promise<void>((resolve, reject) => {
        const next = (): void => {
          const portion = portions.shift();
          if (portion) worker.send(portion as Job[]);
          else worker.disconnect();
        };
        worker.on("message", (part: Report) => {
          for (const failure of part.failures) tell(failure);
          merge(report, part);
          if (announced > 0 && performance.now() - reportedAt > 5_000) {
            reportedAt = performance.now();
            const rate = report.runs / ((reportedAt - began) / 1000);
            console.log(
              `  ${report.runs} of ${announced} seeds, ${report.failures.length} failed, ${rate.toFixed(1)} seeds/s`,
            );
          }
          next();
        });
        worker.on("exit", (code) => (code === 0 ? resolve() : reject(new Error(`A worker ended with ${code}.`))));
        next();
      });
    }),
  );
}

function tell({ job, violations, lines }: Failure): void {
  console.log(`\n${job.scenario}, seed ${job.seed}: ${violations.length} violations. Replay: ${replayCommand(job)}`);
  for (const { law, what } of violations.slice(0, 10)) console.log(`  ${law}: ${what}`);
  if (values.verbose) for (const line of lines) console.log(line);
}

function summary(report: Report, planned: number, seconds: number, holes: readonly string[]): number {
  if (planned <= PORTION) for (const failure of report.failures) tell(failure);
  console.log(`\n${coverageTable(report)}\n`);
  for (const [what, count] of Object.entries(report.counts).sort()) console.log(`  ${what.padEnd(22)} ${count}`);
  console.log(
    `\n${planned} seeds in ${seconds.toFixed(1)} s (${(planned / seconds).toFixed(1)} seeds/s), ${report.runs - planned} more for coverage`,
  );
  for (const hole of holes) console.log(`never crashed: ${hole}`);
  for (const { job } of report.failures) console.log(`failed: ${replayCommand(job)}`);
  console.log(
    `${report.runs - report.failures.length} passed, ${report.failures.length} failed, ${holes.length} places never hit`,
  );
  return report.failures.length > 0 || holes.length > 0 ? 1 : 0;
}
