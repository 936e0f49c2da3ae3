/** A test that cleans nothing up: it leaves processes, sockets, homes and the database server. Then it fails, or waits to be killed. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "vitest";
import { serverForTests } from "../../postgres/shared.ts";

const LISTEN = 'require("node:net").createServer().listen("socket", () => process.send("listening"))';

/** Starts a process that no signal to this one reaches. Without variables only its directory names the run. */
async function listenIn(home: string, env: NodeJS.ProcessEnv): Promise<number> {
  const child = spawn(process.execPath, ["-e", LISTEN], {
    ...{ cwd: home, env, detached: true },
    stdio: ["ignore", "ignore", "ignore", "ipc"],
  });
  await once(child, "message");
  child.disconnect();
  child.unref();
  return child.pid ?? 0;
}

test("leaves everything behind", async () => {
  const run = process.env.ROOKERY_TEST_RUN ?? "";
  const homes = [1, 2].map(() => mkdtempSync(join(tmpdir(), "rookery-left-")));
  const listening = await Promise.all(homes.map((home, index) => listenIn(home, index === 0 ? process.env : {})));
  await serverForTests();
  const { pid } = JSON.parse(readFileSync(join(run, "server.json"), "utf8"));
  const left = { directories: [run, ...homes], pids: [process.pid, pid, ...listening] };
  writeFileSync(process.env.LEFT ?? "", JSON.stringify(left));
  if (process.env.WAITS) await new Promise(() => {});
  throw new Error("This test fails.");
});
