import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { afterEach, describe, expect, it } from "vitest";
import type { AgentRecord } from "../../../core/agent/agent.ts";
import { overLimit } from "./command-limits.ts";
import { processFate } from "./process-fate.ts";
import type { KnownProcess, ProcessState } from "./processes.ts";

const started: ChildProcess[] = [];
afterEach(async () => {
  for (const child of started.splice(0)) {
    child.kill("SIGKILL");
    await once(child, "exit");
    // Its children read from there and end with it.
    for (const stream of child.stdio) stream?.destroy();
  }
});

describe.skipIf(process.platform !== "linux")("the use of a command", () => {
  /** A shell that has started so many programs and waits for its input to end. */
  const shellWith = async (children: number): Promise<number> => {
    const line = `${"cat <&3 & ".repeat(children)} echo ready; read -r end`;
    const child = spawn("/bin/sh", ["-c", line], { stdio: ["pipe", "pipe", "ignore", "pipe"] });
    started.push(child);
    await once(child.stdout as NodeJS.ReadableStream, "data");
    return child.pid as number;
  };

  it.each([
    [0, 1, undefined],
    [0, 0, "it has more than 0 processes"],
    [2, 3, undefined],
    [2, 2, "it has more than 2 processes"],
  ])("with %i children and a limit of %i processes: %s", async (children, processes, why) => {
    expect(await overLimit(await shellWith(children), { memoryMb: 4_096, processes })).toBe(why);
  });

  it("counts memory, and nothing of a process that is gone", async () => {
    const limits = { memoryMb: 0, processes: 9 };
    expect(await overLimit(await shellWith(0), limits)).toBe("it uses more than 0 MB of memory");
    expect(await overLimit(2 ** 30, limits)).toBeUndefined();
  });
});

describe("the fate of a process", () => {
  const WEEK = 7 * 24 * 3600_000;
  const agent = { state: {} } as AgentRecord;
  const known = (state: ProcessState["is"], background: boolean): KnownProcess =>
    ({ info: { background, startedAt: 0 }, state: { is: state } }) as KnownProcess;
  it.each<[string, string, KnownProcess, AgentRecord | undefined, boolean, number]>([
    ["an agent that is gone", "remove", known("running", true), undefined, true, 0],
    ["one that ended a week ago", "keep", known("ended", true), agent, false, WEEK],
    ["one that ended before that", "remove", known("ended", true), agent, false, WEEK + 1],
    ["one that was lost before that", "remove", known("lost", true), agent, false, WEEK + 1],
    ["one that a call here still reads", "keep", known("ended", false), agent, true, WEEK + 1],
    ["one that a call here waits for", "keep", known("running", false), agent, true, 0],
    ["one that a call waited for before a crash", "end", known("running", false), agent, false, 0],
    ["one in the background, for weeks", "keep", known("running", true), agent, false, 9 * WEEK],
  ])("of %s is: %s", (_, fate, process, of, isOurs, now) => {
    expect(processFate(process, of, undefined, isOurs, now)).toBe(fate);
  });
});
