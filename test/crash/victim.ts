/** A process that will be killed: started here, read line by line, and killed only by its own pid. */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";

/** Compiled sources, so that the next process starts sooner. In `npm test` all processes share them. */
const CACHE = process.env.NODE_COMPILE_CACHE ?? join(tmpdir(), "rookery-crash-compiled");

export interface Victim {
  /** Sends one line. */
  tell(line: string): void;
  /** Resolves with true when the process prints the line, with false if it ends before. */
  said(line: string): Promise<boolean>;
  /** Kills the process and resolves when it is dead and all its output has been read. */
  kill(): Promise<void>;
  /** Resolves when the process has ended without a kill and all its output has been read. */
  over(): Promise<void>;
  /** How the process ended, if it was not killed. */
  diedAlone(): string | undefined;
}

export function startVictim(script: URL, args: readonly string[], onLine: (line: string) => void): Victim {
  const child: ChildProcessByStdio<Writable, Readable, Readable> = spawn(
    process.execPath,
    [fileURLToPath(script), ...args],
    { stdio: ["pipe", "pipe", "pipe"], env: { ...process.env, NODE_COMPILE_CACHE: CACHE } },
  );
  let errors = "";
  child.stderr.on("data", (text: Buffer) => {
    errors += text.toString();
  });
  // The pipe to a killed process may break while a line is written: expected.
  child.stdin.on("error", () => {});
  const waiting = new Map<string, (said: boolean) => void>();
  const heard = new Set<string>();
  const lines = createInterface({ input: child.stdout });
  lines.on("line", (line) => {
    heard.add(line);
    waiting.get(line)?.(true);
    waiting.delete(line);
    onLine(line);
  });
  let silent = false;
  const over = once(lines, "close").then(() => {
    silent = true;
    for (const resolve of waiting.values()) resolve(false);
    waiting.clear();
  });
  const gone = once(child, "exit");
  let killed = false;
  let alone: string | undefined;
  child.on("exit", (code, signal) => {
    if (!killed) alone = `ended without being killed (${signal ?? code}): ${errors.slice(-2_000)}`;
  });
  return {
    tell: (line) => void child.stdin.write(`${line}\n`),
    said: (line) =>
      heard.has(line)
        ? Promise.resolve(true)
        : new Promise((resolve) => {
            if (silent) resolve(false);
            else waiting.set(line, resolve);
          }),
    async kill() {
      killed = true;
      child.kill("SIGKILL");
      await Promise.all([gone, over]);
    },
    async over() {
      killed = true;
      await Promise.all([gone, over]);
    },
    diedAlone: () => alone,
  };
}
