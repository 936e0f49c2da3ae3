/** Processes after the engine that started them is gone (M33). A second instance on the same files stands for the next start. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { homePaths } from "../../../config/paths.ts";
import type { AgentRecord } from "../../../core/agent/agent.ts";
import type { AgentId, RunId } from "../../../core/ids.ts";
import { silentLog } from "../../../core/ports/log.ts";
import type { RunRecord } from "../../../core/run/run.ts";
import { bwrapSandbox } from "../../sandbox/bwrap-sandbox.ts";
import { systemClock } from "../../system/system-clock.ts";
import { openFileChanges } from "../../workspace/changes/open-file-changes.ts";
import { noMarks } from "../files/file-marks.ts";
import { NOTHING_SETTLED, noGuard } from "../files/prompt-guard.ts";
import { AGENT, type CommandWorld, commandWorld } from "./exec.test-kit.ts";
import { processFate } from "./process-fate.ts";
import { processesOf, startTimeOf } from "./process-identity.ts";
import { ProcessKeeper } from "./process-keeper.ts";
import { type KnownProcess, Processes } from "./processes.ts";
import { settleFiles } from "./settle-files.ts";

type ProcessSpec = Parameters<Processes["start"]>[0];

let world: CommandWorld;
let next: Processes;
beforeEach(() => {
  world = commandWorld(bwrapSandbox());
  next = new Processes({
    directory: `${world.home}/processes`,
    clock: systemClock,
    sandbox: async () => bwrapSandbox(),
  });
});
afterEach(() => world.close());

const spec = (command: string, more: Partial<ProcessSpec> = {}): ProcessSpec => ({
  ...{ agentId: AGENT, runId: "run" as RunId, callId: "call", command, cwd: world.workspace, background: true },
  argv: ["/bin/sh", "-c", command],
  env: { PATH: process.env.PATH ?? "" },
  signal: new AbortController().signal,
  ...more,
});
const found = async (): Promise<KnownProcess> => {
  const known = await next.find(AGENT, Processes.idOf("run", "call"));
  if (!known) throw new TypeError("it was not found");
  return known;
};

it("is adopted by the next start: it can be read, written to, awaited and stopped", async () => {
  await world.processes.start(spec("read line; echo $line; sleep 600"));
  const adopted = await found();
  expect(adopted.state).toEqual({ is: "running" });
  await next.write(adopted, "hello\n", false);
  await next.end(adopted);
  expect((await found()).state).toMatchObject({ is: "ended" });
  expect(await processesOf(adopted.info.id)).toEqual([]);
});

it("has its exit code after a start in between", async () => {
  await world.processes.start(spec("exit 7"));
  const known = await found();
  expect(await next.wait(known, 20_000, new AbortController().signal)).toEqual({ is: "ended", code: 7 });
});

it("is lost if it is gone without an exit code", async () => {
  const { record } = await world.processes.start(spec("sleep 600"));
  process.kill(-record.pid, "SIGKILL");
  expect(await next.wait(await found(), 20_000, new AbortController().signal)).toEqual({ is: "lost" });
});

it("is not taken for another process that got its number", async () => {
  const { info, files } = await world.processes.start(spec("sleep 600"));
  const other = { info: { ...info, startTime: "1" }, files, state: { is: "running" } } as const;
  const { writeInfo } = await import("./process-files.ts");
  await writeInfo(files, other.info);
  expect((await found()).state).toEqual({ is: "lost" });
  await writeInfo(files, { ...info, machine: "another" });
  expect((await found()).state).toEqual({ is: "lost" });
  expect(await startTimeOf(info.pid ?? 0)).toBe(info.startTime);
  await writeInfo(files, info);
});

it("is started once for a call, whatever happens to the call", async () => {
  await world.processes.start(spec("echo ran >> ran.txt"));
  await next.wait(await found(), 20_000, new AbortController().signal);
  await expect(next.start(spec("echo ran >> ran.txt"))).rejects.toThrow("was started before");
  expect((await found()).state).toEqual({ is: "ended", code: 0 });
});

it("belongs to one agent: another one does not find it, whatever it calls it", async () => {
  const { info } = await world.processes.start(spec("sleep 600"));
  const other = "otheragentotheragent0002" as AgentId;
  for (const id of [info.id, `../${AGENT}/${info.id}`, "..", ""]) expect(await next.find(other, id)).toBeUndefined();
  expect(await next.ofAgent(`../processes/${AGENT}` as AgentId)).toEqual([]);
});

it("ends what someone waited for when the engine died, and lets background processes go on", async () => {
  await world.processes.start(spec("sleep 600"));
  await world.processes.start(spec("sleep 600", { callId: "waited", background: false }));
  const keeper = keeperOf(world.agent, undefined);
  await keeper.check();
  await keeper.stop();
  expect((await found()).state.is).toBe("running");
  expect((await next.find(AGENT, Processes.idOf("run", "waited")))?.state.is).toBe("ended");
});

it("ends the processes of an aborted run, and removes those of an agent that is gone", async () => {
  await world.processes.start(spec("sleep 600"));
  const aborted = keeperOf(world.agent, { outcome: "aborted", body: {} } as RunRecord);
  await aborted.check(AGENT);
  expect((await found()).state.is).toBe("ended");
  await keeperOf(undefined, undefined).check();
  expect(await next.ofAgent(AGENT)).toEqual([]);
});

it("counts together what commands that run at the same time add to the disk, and after a restart too", async () => {
  const policy = {
    ...(await world.deps.policyOf(world.agent, world.places, false)),
    cwd: world.workspace,
    domains: [],
  };
  const add = (name: string) => `read line; head -c 15000000 /dev/zero >${name}; sync ${name}; echo added; sleep 600`;
  const limits = () => ({ memoryMb: 4_096, processes: 512, diskMb: 20 });
  const sandbox = async () => bwrapSandbox();
  const processes = new Processes({ directory: `${world.home}/processes`, clock: systemClock, sandbox, limits });
  const keeper = keeperOf(world.agent, undefined, world.deps.guard, processes);
  const ids: string[] = [];
  for (const callId of ["one", "two"]) {
    const { info, files } = await world.processes.start(spec(add(callId), { policy, callId }));
    await next.write({ info, files, state: { is: "running" } }, "go\n", false);
    await vi.waitFor(() => expect(readFileSync(files.output, "utf8")).toContain("added"), 20_000);
    ids.push(info.id);
    await keeper.check();
  }
  await vi.waitFor(async () => {
    await keeper.check();
    for (const id of ids) {
      const known = await next.find(AGENT, id);
      expect(known?.state.is).toBe("ended");
      expect(readFileSync(known?.files.output ?? "", "utf8")).toContain(
        "[ended: it added more than 20 MB to the disk]",
      );
    }
  }, 30_000);
  await keeper.stop();
});

const told: string[] = [];

const keeperOf = (
  agent: AgentRecord | undefined,
  run: RunRecord | undefined,
  guard = world.deps.guard,
  processes = next,
): ProcessKeeper =>
  new ProcessKeeper({
    processes,
    marks: noMarks,
    guard,
    tell: async ({ info, state }) => void told.push(`${info.id} ${state.is}`),
    clock: systemClock,
    log: silentLog,
    store: { agent: async () => agent, run: async () => run },
  });

it("puts right what a writer of an earlier engine has left, and leaves one that runs alone", async () => {
  const tools = join(world.workspace, "TOOLS.md");
  const { info } = await world.processes.start(spec("sleep 600"));
  await world.deps.guard.begin(info.id, [join(world.workspace, "USER.md")]);
  await world.deps.guard.begin("mcp-0", [tools]);
  writeFileSync(tools, "evil");
  const paths = homePaths(world.home);
  const { guard } = openFileChanges({ paths, roots: () => [paths.workspace], now: () => 1 });
  expect([...guard.left()].sort()).toEqual([info.id, "mcp-0"].sort());
  await keeperOf(world.agent, undefined, guard).check();
  expect([existsSync(tools), guard.left()]).toEqual([false, [info.id]]);
});

it("is left alone by the keeper while it starts: its lease goes on", async () => {
  const ended: string[] = [];
  const begun = Promise.withResolvers<void>();
  const held = Promise.withResolvers<void>();
  const guard = {
    ...noGuard,
    begin() {
      begun.resolve();
      return held.promise;
    },
    async end(id: string) {
      ended.push(id);
      return NOTHING_SETTLED;
    },
  };
  const ours = new Processes({
    ...{ directory: `${world.home}/processes`, clock: systemClock, guard, sandbox: async () => bwrapSandbox() },
  });
  const policy = { cwd: world.workspace, writable: [], readable: [], hidden: [], frozen: [], domains: [] };
  const starting = ours.start(spec("sleep 600", { policy }));
  await begun.promise;
  await keeperOf(world.agent, undefined, guard, ours).check();
  held.resolve();
  const { info } = await starting;
  expect([ended, (await found()).info.settled]).toEqual([[], undefined]);
  await ours.end(await found());
  await keeperOf(world.agent, undefined, guard).check();
  expect(ended).toEqual([info.id]);
});

it("without an exit code is ended as a whole before its lease ends: it may have started right before a crash", async () => {
  const { info, files } = await world.processes.start(spec("sleep 600"));
  const { writeInfo } = await import("./process-files.ts");
  const { pid: _pid, startTime: _time, ...before } = info;
  await writeInfo(files, before);
  expect((await processesOf(info.id)).length).toBeGreaterThan(0);
  const left: number[] = [];
  const end = async () => {
    left.push((await processesOf(info.id)).length);
    return NOTHING_SETTLED;
  };
  await keeperOf(world.agent, undefined, { ...noGuard, end }).check();
  expect([left, (await found()).state]).toEqual([[0], { is: "lost" }]);
  await keeperOf(world.agent, undefined, { ...noGuard, end }).check();
  expect(left).toEqual([0]);
});

it("that cannot be ended keeps its lease", async () => {
  const { info, files } = await world.processes.start(spec("true"));
  const guard = { end: async () => Promise.reject(new Error("not now")) };
  const processes = { endRest: async () => false };
  expect(await settleFiles({ marks: noMarks, guard, processes }, { info, files })).toEqual(NOTHING_SETTLED);
  expect((await found()).info.settled).toBeUndefined();
});

it("that cannot be ended keeps its lease also if an earlier engine has begun it", async () => {
  const { info } = await world.processes.start(spec("true"));
  await next.wait(await found(), 20_000, new AbortController().signal);
  const ended: string[] = [];
  const guard = {
    ...noGuard,
    left: () => [info.id, "mcp-0"],
    async end(id: string) {
      ended.push(id);
      return NOTHING_SETTLED;
    },
  };
  const real = next.endRest.bind(next);
  next.endRest = async () => false;
  await keeperOf(world.agent, undefined, guard).check();
  expect([ended, (await found()).info.settled]).toEqual([["mcp-0"], undefined]);
  next.endRest = real;
  await keeperOf(world.agent, undefined, guard).check();
  expect(new Set(ended)).toEqual(new Set(["mcp-0", info.id]));
});

it("changes nothing any more when its keeper has stopped: another engine may have the home", async () => {
  await world.processes.start(spec("sleep 600"));
  const looked = Promise.withResolvers<void>();
  const held = Promise.withResolvers<readonly string[]>();
  let looks = 0;
  const check = (): Promise<readonly string[]> => {
    looks += 1;
    looked.resolve();
    return held.promise;
  };
  const keeper = keeperOf(world.agent, undefined, { ...noGuard, check });
  const checking = keeper.check();
  await looked.promise;
  let isStopped = false;
  const stopping = keeper.stop().then(() => {
    isStopped = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  expect(isStopped).toBe(false);
  held.resolve([]);
  await Promise.all([checking, stopping]);
  await keeper.check();
  expect(looks).toBe(1);
});

it("wakes its agent once when a background process has ended, and not for one that the agent has given up", async () => {
  const { record, info } = await world.processes.start(spec("true"));
  const listed = { ...world.agent, state: { ...world.agent.state, processes: [record] } } as AgentRecord;
  await next.wait(await found(), 20_000, new AbortController().signal);
  told.length = 0;
  await keeperOf(world.agent, undefined).check();
  expect(told).toEqual([]);
  for (let n = 0; n < 3; n++) await keeperOf(listed, undefined).check();
  expect(told).toEqual([`${info.id} ended`]);
});

it.each([
  ["keep", "a background process of a run that ended well", { outcome: "ok" }],
  ["keep", "one of a run that still works", { state: "open" }],
  [
    "keep",
    "one of a run that failed in a model",
    { outcome: "error", body: { error: { kind: "model", message: "" } } },
  ],
  ["end", "one of an aborted run", { outcome: "aborted" }],
  ["end", "one of a run whose time was over", { outcome: "timeout" }],
  ["end", "one of a run without budget", { outcome: "error", body: { error: { kind: "budget", message: "" } } }],
])("%s: %s", (fate, _what, run) => {
  const known = { info: { background: true, startedAt: 0 }, state: { is: "running" } } as KnownProcess;
  const whole = { body: {}, ...run } as RunRecord;
  const agent = { state: {} } as AgentRecord;
  expect(processFate(known, agent, whole, false, 0)).toBe(fate);
  expect(processFate(known, { ...agent, stopped: { at: 0, reason: "" } } as AgentRecord, whole, true, 0)).toBe("end");
  const ended: KnownProcess = { ...known, state: { is: "ended", code: 0 } };
  expect(processFate(ended, agent, whole, false, 8 * 24 * 3600_000)).toBe("remove");
  expect(processFate(ended, agent, whole, false, 1)).toBe("keep");
});
