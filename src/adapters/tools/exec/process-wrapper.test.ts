import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { WRAPPER } from "./process-wrapper.ts";

const root = mkdtempSync(join(tmpdir(), "rookery-wrapper-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

interface Wrapped {
  readonly wrapper: ChildProcess;
  readonly directory: string;
  /** The code that is written down when the wrapper has ended. */
  readonly code: Promise<string>;
}

function wrapped(line: string): Wrapped {
  const directory = mkdtempSync(join(root, "process-"));
  const limits = ["1000000", "unlimited", "input"];
  const argv = ["-c", WRAPPER, "wrapper", directory, ...limits, "/bin/sh", "-c", line];
  const wrapper = spawn("/bin/sh", argv, { detached: true, stdio: "ignore" });
  const ended = new Promise((resolve) => wrapper.on("exit", resolve));
  return { wrapper, directory, code: ended.then(() => readFileSync(join(directory, "status"), "utf8").trim()) };
}

/** The process that leads the session is the wrapper. */
const signals = (name: string): string => `read -r stat </proc/$$/stat; set -- $stat; kill -${name} $6`;

/** Whether the process is stopped and all that it waits for has ended. */
function isStoppedWithAllEnded(pid: number): boolean {
  const stateOf = (one: string | number): string =>
    readFileSync(`/proc/${one}/stat`, "utf8").split(") ").at(-1)?.slice(0, 1) ?? "";
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ").filter(Boolean);
  return stateOf(pid) === "T" && children.length > 0 && children.every((one) => stateOf(one) === "Z");
}

it.each(["SIGUSR1", "SIGTERM"] as const)(
  "writes the command's code down if it ends at the moment of %s",
  async (name) => {
    // The wrapper is stopped until the command has ended: then it sees both at once.
    const { wrapper, code } = wrapped(`${signals("STOP")}; exit 7`);
    await expect.poll(() => isStoppedWithAllEnded(wrapper.pid ?? 0)).toBe(true);
    wrapper.kill(name);
    wrapper.kill("SIGCONT");
    expect(await code).toBe("7");
  },
);

it.each(["USR1", "TERM"])("goes on after %s, and writes the code of the command that ends later", async (name) => {
  expect(await wrapped(`${signals(name)}; ${signals(name)}; exit 7`).code).toBe("7");
});

it("writes the code of a command that a signal has killed", async () => {
  expect(await wrapped("kill -KILL $$").code).toBe("137");
});
