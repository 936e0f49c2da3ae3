/**
 * `npm run tool -- flaky`: repeats the tests that start processes, browsers and servers, twice as many side by side as there are
 * processors, so that they are each other's load, and lists every test that ever failed. A test that fails sometimes is a
 * defect. What was repeated is kept in `.flaky`, so a run that was interrupted continues.
 */
import { rmSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { readCommandLine } from "../kit/command-line.ts";
import { openJournal, type Repetition } from "./journal.ts";
import { runPiece } from "./run-piece.ts";
import { slowPieces } from "./slow-files.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const KEPT = join(ROOT, ".flaky");

const { values, words: paths } = readCommandLine({
  name: "flaky",
  about:
    "Repeats the tests that start processes, browsers and servers under load, and lists every test that ever failed.",
  words: "PATH",
  options: {
    times: { kind: "count", least: 1, default: 20, about: "How often." },
    beside: { kind: "count", least: 1, default: 2 * availableParallelism(), about: "How many runs side by side." },
    again: { kind: "flag", about: "Begins anew instead of continuing an interrupted run." },
  },
});
const { times, beside } = values;
const pieces = slowPieces(ROOT, paths);
if (pieces.length === 0) {
  console.error("No slow tests there. Give the beginning of a path, such as test/e2e.");
  process.exit(2);
}
if (values.again) rmSync(KEPT, { recursive: true, force: true });

const journal = openJournal(KEPT);
const left = Array.from({ length: times }, (_none, index) =>
  pieces.map((piece) => ({ time: index + 1, piece })),
).flat();
await Promise.all(
  Array.from({ length: beside }, async () => {
    for (let next = left.shift(); next; next = left.shift()) await repeat(next.time, next.piece);
  }),
);
const chosen = new Set(pieces.flat());
const failed = report(journal.all().filter(({ file, time }) => chosen.has(file) && time <= times));
process.exitCode = failed === 0 ? 0 : 1;

async function repeat(time: number, piece: readonly string[]): Promise<void> {
  const files = piece.filter((file) => !journal.has(time, file));
  if (files.length === 0) return;
  const began = performance.now();
  const repetitions = await runPiece({ root: ROOT, time, files, kept: KEPT });
  journal.add(repetitions);
  const failures = repetitions.flatMap((one) => one.failures.map(({ test }) => `${one.file}: ${test}`));
  const seconds = Math.round((performance.now() - began) / 1000);
  console.log(`${time} of ${times}: ${files[0]} and ${files.length - 1} more, ${failures.length} failed, ${seconds} s`);
  for (const failure of failures) console.log(`    ${failure}`);
}

/** Prints every test that ever failed and returns how many there are. */
function report(repetitions: readonly Repetition[]): number {
  const failures = new Map<string, { file: string; count: number; message: string }>();
  for (const { file, failures: failedTests } of repetitions) {
    for (const { test, message } of failedTests) {
      const name = `${file}: ${test}`;
      failures.set(name, { file, count: (failures.get(name)?.count ?? 0) + 1, message });
    }
  }
  for (const [name, { file, count, message }] of failures) {
    const ran = repetitions.filter((one) => one.file === file).length;
    console.log(`${count} of ${ran}  ${name}\n    ${message}`);
  }
  const files = new Set(repetitions.map(({ file }) => file)).size;
  console.log(
    `${files} files, ${repetitions.length} repetitions, ${beside} side by side: ${failures.size} tests failed at least once.`,
  );
  return failures.size;
}
