/** A process that will be killed: started by us, read line by line, and killed by its own pid only. */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";

export interface Victim {
  /** Sends one line. */
  tell(line: string): void;
  /** Resolves with true when the line was said, with false when the process ended before. */
  said(line: string): Promise<boolean>;
  /** Kills it and resolves when it is dead and everything it said has been read. */
  kill(): Promise<void>;
  /** Resolves when it has ended by itself and everything it said has been read. */
  over(): Promise<void>;
  /** How it ended, where it was not killed by us. */
  diedAlone(): string | undefined;
}

export function startVictim(script: URL, args: readonly string[], onLine: (line: string) => void): Victim {
  const child: ChildProcessByStdio<Writable, Readable, Readable> = spawn(
    process.execPath,
    [fileURLToPath(script), ...args],
    { stdio: ["pipe", "pipe", "pipe"] },
  );
  let errors = "";
  child.stderr.on("data", (text: Buffer) => {
    errors += text.toString();
  });
  // A killed reader's pipe may break under our last word: that is what killing does.
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
    if (!killed) alone = `ended by itself (${signal ?? code}): ${errors.slice(-2_000)}`;
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
