/**
 * Loaded with `--require` into the process that is measured and into its threads (`--import` skips threads that are
 * started from a string). At SIGUSR2 it writes the processor time of the process,
 * all threads, its SQLite counts and the main thread's calls of `node:fs` into the directory ROOKERY_BENCH_SAMPLES. Counting
 * costs time, so it happens only with ROOKERY_BENCH_COUNT.
 */
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { getEnvironmentData, isMainThread, setEnvironmentData } from "node:worker_threads";
import { countStatements, newCounters, readCounters, type StatementCounts } from "./statement-counter.ts";

export interface Sample {
  readonly cpuMs: number;
  readonly counts?: StatementCounts & { readonly fileCalls: number };
}

const COUNTERS = "rookery-bench-counters";
const { ROOKERY_BENCH_SAMPLES: directory, ROOKERY_BENCH_COUNT: counting } = process.env;
// The calls of this file are not counted.
const { renameSync, writeFileSync } = fs;
let counts: (() => Sample["counts"]) | undefined;

if (counting !== undefined) {
  const shared = isMainThread ? newCounters() : (getEnvironmentData(COUNTERS) as unknown as SharedArrayBuffer);
  if (isMainThread) setEnvironmentData(COUNTERS, shared as never);
  countStatements(shared);
  const fileCalls = isMainThread ? countFileCalls() : () => 0;
  counts = () => ({ ...readCounters(shared), fileCalls: fileCalls() });
}

/** Counts calls of the functions of `node:fs` and `node:fs/promises`, not what they call in turn. SQLite makes its own system calls. */
function countFileCalls(): () => number {
  let calls = 0;
  let depth = 0;
  for (const from of [fs, fs.promises] as readonly object[]) {
    for (const [name, value] of Object.entries(from) as [string, unknown][]) {
      if (typeof value !== "function" || !/^[a-z]/.test(name)) continue;
      const counted = (...args: unknown[]): unknown => {
        if (depth === 0) calls += 1;
        depth += 1;
        try {
          return Reflect.apply(value, from, args);
        } finally {
          depth -= 1;
        }
      };
      // Some functions carry others: `realpathSync.native`.
      Object.assign(from, { [name]: Object.assign(counted, value) });
    }
  }
  syncBuiltinESMExports();
  return () => calls;
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
