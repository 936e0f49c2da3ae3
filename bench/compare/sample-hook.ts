/**
 * Loaded with `--require` into the process that is measured and into its threads (`--import` skips threads that are
 * started from a string). At SIGUSR2 it writes the processor time of the process,
 * all threads, and its SQLite counts into the directory ROOKERY_BENCH_SAMPLES. Counting costs time, so it
 * happens only with ROOKERY_BENCH_COUNT.
 */
import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { getEnvironmentData, isMainThread, setEnvironmentData } from "node:worker_threads";
import { countStatements, newCounters, readCounters, type StatementCounts } from "./statement-counter.ts";

export interface Sample {
  readonly cpuMs: number;
  readonly counts?: StatementCounts;
}

const COUNTERS = "rookery-bench-counters";
const { ROOKERY_BENCH_SAMPLES: directory, ROOKERY_BENCH_COUNT: counting } = process.env;
let counts: (() => StatementCounts) | undefined;

if (counting !== undefined) {
  const shared = isMainThread ? newCounters() : (getEnvironmentData(COUNTERS) as unknown as SharedArrayBuffer);
  if (isMainThread) setEnvironmentData(COUNTERS, shared as never);
  countStatements(shared);
  counts = () => readCounters(shared);
}

if (isMainThread && directory !== undefined) {
  let written = 0;
  process.on("SIGUSR2", () => {
    const { user, system } = process.cpuUsage();
    const sample: Sample = { cpuMs: (user + system) / 1000, counts: counts?.() };
    const path = join(directory, String(written++));
    writeFileSync(`${path}.part`, JSON.stringify(sample));
    // The reader waits for the final name, so the file is complete when it appears.
    renameSync(`${path}.part`, path);
  });
}
