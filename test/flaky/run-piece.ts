/** One run of Vitest over a few files, with what failed in each. Its output is kept if anything failed. */
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Failure, Repetition } from "./journal.ts";

interface Results {
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly message?: string;
    readonly startTime: number;
    readonly endTime: number;
    readonly assertionResults: readonly {
      readonly fullName: string;
      readonly status: string;
      readonly failureMessages: readonly string[];
    }[];
  }[];
}

export interface Piece {
  readonly root: string;
  readonly time: number;
  readonly files: readonly string[];
  /** Where the output of a run that failed is kept. */
  readonly kept: string;
}

export async function runPiece(piece: Piece): Promise<readonly Repetition[]> {
  const directory = mkdtempSync(join(tmpdir(), "rookery-flaky-"));
  const results = join(directory, "results.json");
  try {
    const { code, output } = await vitest(piece, results);
    const repetitions = repetitionsIn(piece, results, code);
    if (repetitions.some(({ failures }) => failures.length > 0)) {
      const name = `${piece.time}-${(piece.files[0] ?? "").replaceAll("/", "-")}.txt`;
      writeFileSync(join(piece.kept, name), output);
    }
    return repetitions;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function vitest({ root, files }: Piece, results: string): Promise<{ code: number | null; output: string }> {
  const child = spawn(
    process.execPath,
    [
      join(root, "node_modules/vitest/vitest.mjs"),
      ...["run", "--maxWorkers=1", "--reporter=default", "--reporter=json", `--outputFile.json=${results}`],
      ...files,
    ],
    { cwd: root, stdio: ["ignore", "pipe", "pipe"] },
  );
  const parts: Buffer[] = [];
  child.stdout.on("data", (part: Buffer) => parts.push(part));
  child.stderr.on("data", (part: Buffer) => parts.push(part));
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, output: Buffer.concat(parts).toString() }));
  });
}

/** A run that failed although every test passed had an error outside of the tests: it counts against all its files. */
function repetitionsIn({ root, time, files }: Piece, path: string, code: number | null): readonly Repetition[] {
  const at = new Date().toISOString();
  const whole = (message: string): readonly Repetition[] =>
    files.map((file) => ({ time, file, at, seconds: 0, failures: [{ test: "the whole run", message }] }));
  let results: Results;
  try {
    results = JSON.parse(readFileSync(path, "utf8")) as Results;
  } catch {
    return whole("Vitest left no results.");
  }
  const repetitions = files.map((file): Repetition => {
    const found = results.testResults.find(({ name }) => name === join(root, file));
    if (!found)
      return { time, file, at, seconds: 0, failures: [{ test: "the file", message: "Vitest did not run it." }] };
    const failed = found.assertionResults.filter(({ status }) => status === "failed");
    const failures: readonly Failure[] =
      failed.length === 0 && found.status === "failed"
        ? [{ test: "the file", message: firstLine(found.message) }]
        : failed.map((one) => ({ test: one.fullName, message: firstLine(one.failureMessages[0]) }));
    return { time, file, at, seconds: Math.round((found.endTime - found.startTime) / 100) / 10, failures };
  });
  if (code !== 0 && repetitions.every(({ failures }) => failures.length === 0)) {
    return whole(`Vitest exited with ${code} although every test passed: see its output.`);
  }
  return repetitions;
}

function firstLine(text: string | undefined): string {
  return (text ?? "").split("\n")[0] ?? "";
}
