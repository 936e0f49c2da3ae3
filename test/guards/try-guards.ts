/** Disables a guard in a copy of the working tree and runs its tests there. */
import { spawn } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Guard } from "./guards.ts";

/** `held`: a test failed without the guard. `passes`: none did, so nothing proves the guard. `broken`: this entry has to be repaired. */
export type Verdict =
  | { readonly is: "held"; readonly failed: number; readonly of: number }
  | { readonly is: "passes"; readonly of: number }
  | { readonly is: "broken"; readonly why: string };

/** The text without the guard; undefined if the edit does not fit in exactly one place. */
export function withoutGuard(text: string, { search, replace }: Guard): string | undefined {
  const parts = text.split(search);
  return parts.length === 2 ? parts.join(replace) : undefined;
}

export interface Tree {
  /** A copy of the tree, with its guards. Files are put back. */
  readonly directory: string;
  /** The results with all guards, by test: each is run once. */
  readonly before: Map<string, Ran>;
}

export async function tryGuard({ directory, before: known }: Tree, guard: Guard): Promise<Verdict> {
  const path = join(directory, guard.file);
  const original = readFileSync(path, "utf8");
  const edited = withoutGuard(original, guard);
  if (edited === undefined) return { is: "broken", why: `${guard.file} does not contain the text exactly once` };
  const tests = `${guard.test} ${guard.title}`;
  const before = known.get(tests) ?? (await runTests(directory, guard));
  known.set(tests, before);
  if (before.failed > 0) return { is: "broken", why: `${before.failed} tests fail with the guard too` };
  if (before.passed === 0) return { is: "broken", why: `no test of ${guard.test} ran: ${before.output.slice(-300)}` };
  writeFileSync(path, edited);
  try {
    const { passed, failed, output } = await runTests(directory, guard);
    if (passed + failed === 0) return { is: "broken", why: `no test ran without the guard: ${output.slice(-300)}` };
    return failed > 0 ? { is: "held", failed, of: passed + failed } : { is: "passes", of: passed };
  } finally {
    writeFileSync(path, original);
  }
}

interface Ran {
  readonly passed: number;
  readonly failed: number;
  readonly output: string;
}

const LIMIT_MS = 300_000;

function runTests(directory: string, { test, title }: Guard): Promise<Ran> {
  const report = join(directory, "guard-report.json");
  rmSync(report, { force: true });
  const pattern = title.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`);
  const vitest = join(directory, "node_modules/vitest/vitest.mjs");
  const args = [vitest, "run", test, "-t", pattern, "--reporter=json", `--outputFile=${report}`];
  return new Promise((resolve) => {
    const child = spawn(process.execPath, args, {
      cwd: directory,
      stdio: ["ignore", "pipe", "pipe"],
      timeout: LIMIT_MS,
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (chunk: Buffer) => (output += chunk.toString()));
    child.once("close", () => resolve({ ...countsIn(report), output }));
  });
}

function countsIn(report: string): Omit<Ran, "output"> {
  try {
    const { numPassedTests, numFailedTests } = JSON.parse(readFileSync(report, "utf8")) as Record<string, number>;
    return { passed: numPassedTests ?? 0, failed: numFailedTests ?? 0 };
  } catch {
    return { passed: 0, failed: 0 };
  }
}
