/**
 * `npm run flaky -- [--times N] [--load N] [PATH …]`: repeats the tests that start processes, browsers and servers while
 * other processes keep the processor busy, and lists every test that ever failed. A test that fails sometimes is a defect.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
/** Everything that depends on a moment: real processes, sockets, terminals, pages. */
const SLOW = ["test", "src/app", "src/adapters"];

interface Results {
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly message?: string;
    readonly assertionResults: readonly {
      readonly fullName: string;
      readonly status: string;
      readonly failureMessages: readonly string[];
    }[];
  }[];
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { times: { type: "string", default: "20" }, load: { type: "string", default: "2" } },
});
const times = Number(values.times);
if (!Number.isInteger(times) || times < 1) {
  console.error("Usage: npm run flaky -- [--times N] [--load N] [PATH …]");
  process.exit(2);
}

const failures = new Map<string, { count: number; message: string }>();
const busy = Array.from({ length: Number(values.load) }, () =>
  spawn(process.execPath, ["-e", "for (;;) Math.random();"]),
);
try {
  for (let time = 1; time <= times; time++) await once(time);
} finally {
  for (const child of busy) child.kill("SIGKILL");
}
for (const [name, { count, message }] of failures) console.log(`${count} of ${times}  ${name}\n    ${message}`);
console.log(`${times} times, with ${values.load} busy processes: ${failures.size} tests failed at least once.`);
process.exitCode = failures.size === 0 ? 0 : 1;

async function once(time: number): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), "rookery-flaky-"));
  const output = join(directory, "results.json");
  const began = performance.now();
  const child = spawn(
    process.execPath,
    [
      join(ROOT, "node_modules/vitest/vitest.mjs"),
      ...["run", "--reporter", "json", "--outputFile", output],
      ...(positionals.length > 0 ? positionals : SLOW),
    ],
    { cwd: ROOT, stdio: "ignore" },
  );
  await ended(child);
  const failed = failedIn(output);
  for (const { name, message } of failed) {
    failures.set(name, { count: (failures.get(name)?.count ?? 0) + 1, message });
  }
  rmSync(directory, { recursive: true, force: true });
  console.log(`${time} of ${times}: ${failed.length} failed, ${Math.round((performance.now() - began) / 1000)} s`);
}

/** A run that left no results failed as a whole. */
function failedIn(output: string): readonly { name: string; message: string }[] {
  let results: Results;
  try {
    results = JSON.parse(readFileSync(output, "utf8")) as Results;
  } catch {
    return [{ name: "the whole run", message: "Vitest left no results." }];
  }
  return results.testResults.flatMap((file) => {
    const failed = file.assertionResults.filter(({ status }) => status === "failed");
    const place = file.name.slice(ROOT.length);
    if (failed.length === 0) return file.status === "failed" ? [{ name: place, message: firstLine(file.message) }] : [];
    return failed.map((one) => ({ name: `${place}: ${one.fullName}`, message: firstLine(one.failureMessages[0]) }));
  });
}

function firstLine(text: string | undefined): string {
  return (text ?? "").split("\n")[0] ?? "";
}

function ended(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => child.on("close", () => resolve()));
}
