import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { WRAPPER } from "./process-wrapper.ts";

const root = mkdtempSync(join(tmpdir(), "rookery-wrapper-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** The code that is written down for a command of the shell. */
async function codeOf(line: string): Promise<string> {
  const directory = mkdtempSync(join(root, "process-"));
  const limits = ["1000000", "unlimited", "input"];
  const argv = ["-c", WRAPPER, "wrapper", directory, ...limits, "/bin/sh", "-c", line];
  const child = spawn("/bin/sh", argv, { detached: true, stdio: "ignore" });
  await new Promise((resolve) => child.on("exit", resolve));
  return readFileSync(join(directory, "status"), "utf8").trim();
}

/** The process that leads the session is the wrapper. */
const SIGNAL = (name: string): string => `read -r stat </proc/$$/stat; set -- $stat; kill -${name} $6`;

it.each(["USR1", "TERM"])("writes the command's code down if it ends at the moment of %s", async (name) => {
  const codes: string[] = [];
  for (let round = 0; round < 10; round++)
    codes.push(...(await Promise.all(Array.from({ length: 20 }, () => codeOf(`${SIGNAL(name)}; exit 7`)))));
  expect(new Set(codes)).toEqual(new Set(["7"]));
});

it("writes the code of a command that a signal has killed", async () => {
  expect(await codeOf("kill -KILL $$")).toBe("137");
});
