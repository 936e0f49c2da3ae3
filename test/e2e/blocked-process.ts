/** Starts processes whose event loop a tool blocks, and follows what they print. */
import { type ChildProcess, type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import type { TestContext } from "vitest";

const SCRIPT = fileURLToPath(new URL("./blocked-node.ts", import.meta.url));
const BLOCKED_SECONDS = 2;
type Line = Readonly<Record<string, unknown>>;

/** A home of its own, and processes on it that end with the test. */
export function world(
  { onTestFinished }: TestContext,
  { drainSeconds = 2 * BLOCKED_SECONDS, store }: { drainSeconds?: number; store?: string } = {},
) {
  const home = mkdtempSync(join(tmpdir(), "rookery-watchdog-"));
  writeFileSync(
    join(home, "rookery.json5"),
    JSON.stringify({
      people: { unknown: "guest" },
      // Another node waits for the end of the lease.
      store: { leaseSeconds: 2 * BLOCKED_SECONDS },
    }),
  );
  const started: ChildProcess[] = [];
  onTestFinished(() => {
    for (const child of started) child.kill("SIGKILL");
    rmSync(home, { recursive: true, force: true });
  });
  const file = join(home, "ended-by-watchdog.json");
  return {
    drainSeconds,
    start(tools: "blocking" | "harmless" = "blocking") {
      const child = spawn(process.execPath, [SCRIPT, home, tools, String(BLOCKED_SECONDS), String(drainSeconds)], {
        stdio: ["pipe", "pipe", "pipe"],
        env: { ...process.env, ROOKERY_STORE: store },
      });
      started.push(child);
      return followed(child);
    },
    note: (): Line | undefined => (existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as Line) : undefined),
  };
}

function followed(child: ChildProcessByStdio<Writable, Readable, Readable>) {
  let errors = "";
  child.stderr.on("data", (chunk: Buffer) => {
    errors += chunk.toString();
  });
  const lines: Line[] = [];
  let wake = (): void => {};
  createInterface({ input: child.stdout }).on("line", (line) => {
    lines.push(JSON.parse(line) as Line);
    wake();
  });
  const exit = once(child, "exit") as Promise<[number | null, NodeJS.Signals | null]>;
  let over = false;
  void exit.then(() => {
    over = true;
    wake();
  });
  return {
    child,
    exit,
    errors: () => errors,
    tell: (user: string, text: string) => child.stdin.write(`${user} ${text}\n`),
    /** The first line that has these fields; undefined if the process ended without one. */
    async seen(wanted: Line): Promise<Line | undefined> {
      for (;;) {
        const found = lines.find((line) => Object.entries(wanted).every(([key, value]) => line[key] === value));
        if (found || over) return found;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
  };
}
