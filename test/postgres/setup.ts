/** Global set-up of tests: a directory where the first test file that needs PostgreSQL starts it, and the teardown. */
import { type ChildProcess, spawn } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

export default function setup(): () => Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), "rookery-run-"));
  // The server may run under another account.
  chmodSync(directory, 0o755);
  process.env.ROOKERY_TEST_RUN = directory;
  const watcher = endsServerWithThis(directory);
  return async () => {
    watcher.kill("SIGKILL");
    const info = join(directory, "server.json");
    if (existsSync(info)) {
      const { pid } = JSON.parse(readFileSync(info, "utf8"));
      if (pid) await ended(pid);
    }
    rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
  };
}

/** The server outlives the test file that started it. If this process is killed, nobody tears it down: then the pipe is closed. */
function endsServerWithThis(directory: string): ChildProcess {
  const script = 'read -r _; kill -QUIT "$(head -n 1 "$0")"; sleep 1; rm -rf "$1"';
  const watcher = spawn("/bin/sh", ["-c", script, join(directory, "postgres/data/postmaster.pid"), directory], {
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  watcher.unref();
  (watcher.stdin as Partial<Socket> | null)?.unref?.();
  return watcher;
}

async function ended(pid: number): Promise<void> {
  try {
    process.kill(pid, "SIGQUIT");
    for (;;) {
      process.kill(pid, 0);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  } catch {
    // It has ended.
  }
}
