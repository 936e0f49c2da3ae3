/** Global set-up of tests: a directory where the first test file that needs PostgreSQL starts it, and the teardown. */
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export default function setup(): () => Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), "rookery-run-"));
  // The server may run under another account.
  chmodSync(directory, 0o755);
  process.env.ROOKERY_TEST_RUN = directory;
  return async () => {
    const info = join(directory, "server.json");
    if (existsSync(info)) {
      const { pid } = JSON.parse(readFileSync(info, "utf8"));
      if (pid) await ended(pid);
    }
    rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
  };
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
