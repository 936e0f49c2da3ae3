/** What `exec` starts, with which rights, without a sandbox of the machine: the processes are scripted. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { virtualClock } from "../../../../test/kit/clock.ts";
import type { AgentRecord } from "../../../core/agent/agent.ts";
import { MAX_PROCESSES } from "../../../core/agent/background-process.ts";
import type { ToolContext } from "../../../core/ports/tool.ts";
import type { Places } from "../files/allowed-path.ts";
import { realDisk } from "../files/disk.ts";
import { noMarks } from "../files/file-marks.ts";
import { noGuard } from "../files/prompt-guard.ts";
import type { ExecDeps } from "./exec-deps.ts";
import { execTool } from "./exec-tool.ts";
import { processTool } from "./process-tool.ts";
import type { KnownProcess, Processes, ProcessState } from "./processes.ts";

type ProcessSpec = Parameters<Processes["start"]>[0];

let root: string;
let ws: string;
let places: Places;
let host: "sandbox" | "host";
let settings: ReturnType<ExecDeps["settings"]>;
let knownMark: string | undefined;
let suspected: unknown[][];
let started: ProcessSpec[];
let waited: number[];
let state: ProcessState;
let log: string[];
let running: ReadonlySet<string>;

beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "rookery-rights-")));
  ws = join(root, "ws");
  mkdirSync(join(ws, "src"), { recursive: true });
  mkdirSync(join(root, "out"));
  writeFileSync(join(ws, "f"), "");
  symlinkSync(join(root, "out"), join(ws, "link"));
  places = { workingDir: ws };
  [host, knownMark, running] = ["sandbox", undefined, new Set()];
  settings = { timeoutSeconds: 20, maxTimeoutSeconds: 60, domains: [], secrets: ["TOKEN"] };
  [suspected, started, waited, log] = [[], [], [], []];
  state = { is: "ended", code: 0 };
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const processOf = (id: string): KnownProcess =>
  ({ info: { id }, files: { directory: root, output: join(root, "output") }, state }) as KnownProcess;
const processes = {
  clock: virtualClock(),
  async start(spec: ProcessSpec) {
    started.push(spec);
    return { ...processOf("p"), record: { id: "p" } };
  },
  async wait(_: unknown, ms: number) {
    waited.push(ms);
    return state;
  },
  endRest: async () => true,
  end: async () => void log.push("end"),
  forget: async ({ info }: KnownProcess) => void log.push(`forget ${info.id}`),
  remove: async () => void log.push("remove"),
  find: async (_: string, id: string) =>
    running.has(id) ? { ...processOf(id), state: { is: "running" } } : { ...processOf(id), state },
};
const deps = (): ExecDeps =>
  ({
    ...{ processes, disk: realDisk, guard: noGuard },
    marks: {
      ...noMarks,
      knows: (path: string) => path === knownMark,
      suspect: async (...args: unknown[]) => void suspected.push(args),
    },
    placesOf: async () => places,
    policyOf: async () => ({ writable: [ws], readable: [], hidden: ["/home"], frozen: [join(ws, "SOUL.md")] }),
    hostOf: async () => host,
    settings: () => settings,
    environment: () => ({ PATH: "/bin", TOKEN: "of the engine" }),
    secret: (name: string) => `value of ${name}`,
    secretValues: () => ({}),
  }) as never;
const agent = { id: "a", state: {} } as AgentRecord;
const context = (more: Partial<ToolContext> = {}): ToolContext =>
  ({
    ...{ agent, agentId: "a", runId: "r", callId: "c", progress: () => {} },
    ...{ signal: new AbortController().signal, ...more },
  }) as never;
const exec = (given: object, more?: Partial<ToolContext>) =>
  execTool(deps()).execute(execTool(deps()).input.parse({ command: "true", ...given }), context(more));

describe("a command", () => {
  it("runs in the sandbox, with its own policy and the hosts of the settings", async () => {
    settings = { ...settings, domains: ["example.org"] };
    await exec({ cwd: "src" });
    expect(started[0]).toMatchObject({
      ...{ cwd: join(ws, "src"), background: false, command: "true" },
      policy: { cwd: join(ws, "src"), domains: ["example.org"], writable: [ws], hidden: ["/home"] },
    });
    expect(started[0]?.argv.slice(-2)).toEqual(["-c", "true"]);
  });

  it("runs without one only if the owner says so", async () => {
    host = "host";
    await exec({});
    expect([started[0]?.policy, started[0]?.cwd]).toEqual([undefined, ws]);
  });

  it("as a list is started as it is, by no shell", async () => {
    await exec({ command: ["echo", "$(id)", "; rm x"] });
    expect([started[0]?.argv, started[0]?.command]).toEqual([["echo", "$(id)", "; rm x"], "echo $(id) ; rm x"]);
  });

  it.each<[string, object, string]>([
    ["a directory outside", { cwd: ".." }, "outside the allowed directories"],
    ["a link to a directory outside", { cwd: "link" }, "outside the allowed directories"],
    ["a missing directory", { cwd: "none" }, "There is no directory none."],
    ["a file as its directory", { cwd: "f" }, "f is not a directory."],
    ["a zero character", { command: "echo a\0b" }, "cannot contain a zero character"],
    ["a zero character in an argument", { command: ["echo", "a\0b"] }, "cannot contain a zero character"],
    ["a secret that is not for commands", { secrets: ["TOKEN", "KEY"] }, "There is no secret KEY for commands."],
  ])("is not started with %s", async (_, given, problem) => {
    await expect(exec(given)).rejects.toThrow(problem);
    expect([started, suspected]).toEqual([[], []]);
  });

  it("gets the secrets that it names, and no others", async () => {
    await exec({});
    await exec({ secrets: ["TOKEN"] });
    expect(started.map(({ env }) => env)).toEqual([
      { PATH: "/bin", TOKEN: "of the engine" },
      { PATH: "/bin", TOKEN: "value of TOKEN" },
    ]);
    settings = { ...settings, secrets: [] };
    await expect(exec({ secrets: ["TOKEN"] })).rejects.toThrow("There is no secret TOKEN");
  });

  it.each([
    [undefined, 20_000],
    [5, 5_000],
    [60, 60_000],
    [61, 60_000],
    [1e9, 60_000],
  ])("that asks for %s seconds gets %i ms", async (timeoutSeconds, ms) => {
    await exec({ timeoutSeconds });
    expect(waited).toEqual([ms]);
  });

  it.each<[string, ProcessState, "sandbox" | "host", readonly string[], boolean]>([
    ["ended in the sandbox: its files go", { is: "ended", code: 1 }, "sandbox", ["remove"], false],
    ["ended on the host: what it left is looked for", { is: "ended", code: 0 }, "host", ["forget p"], false],
    ["runs when its time is over: it is ended", { is: "running" }, "sandbox", ["end", "forget p"], true],
    ["was lost: what it left is looked for", { is: "lost" }, "sandbox", ["forget p"], true],
  ])("that %s", async (_, how, where, done, isError) => {
    [state, host] = [how, where];
    const output = await exec({});
    expect([log, output.isError]).toEqual([done, isError]);
  });
});

describe("untrusted text", () => {
  const WARY: Partial<ToolContext> = { behalf: { person: "ann", untrusted: true } as never };
  it.each<[string, () => void, Partial<ToolContext>, boolean, boolean]>([
    ["nothing of others", () => {}, {}, false, false],
    ["hosts", () => (settings = { ...settings, domains: ["x.org"] }), {}, true, true],
    ["the host", () => (host = "host"), {}, true, true],
    ["a marked file in the workspace", () => (knownMark = ws), {}, true, true],
    ["such text on its way", () => {}, WARY, false, true],
  ])("is what a command may bring that has %s", async (_, set, more, isMarked, isSuspect) => {
    set();
    const output = await exec({ background: true }, more);
    expect(output.untrusted).toEqual(isMarked ? { from: "tool:exec" } : undefined);
    expect(suspected).toHaveLength(isSuspect ? 1 : 0);
  });

  it.each<["readDirs" | "writeDirs"]>([["readDirs"], ["writeDirs"]])("is found in %s too", async (key) => {
    places = { workingDir: ws, [key]: [join(root, "out")] };
    knownMark = join(root, "out");
    expect((await exec({})).untrusted).toEqual({ from: "tool:exec" });
  });

  it("is suspected in what the command can write, before it starts", async () => {
    knownMark = ws;
    await exec({});
    expect(suspected[0]?.slice(1)).toEqual([[ws], expect.any(Number), [join(ws, "SOUL.md")]]);
    host = "host";
    places = { workingDir: ws, writeDirs: [join(root, "out")] };
    await exec({});
    expect(suspected[1]?.slice(1)).toEqual([[ws, join(root, "out")], expect.any(Number), undefined]);
  });
});

describe("background processes", () => {
  const listed = (count: number): Partial<ToolContext> => ({
    agent: { ...agent, state: { processes: Array.from({ length: count }, (_, n) => ({ id: `p${n}` })) } } as never,
  });

  it("make room by forgetting the oldest that have ended", async () => {
    expect((await exec({ background: true }, listed(MAX_PROCESSES - 1))).processes?.forgotten).toEqual([]);
    running = new Set(["p0"]);
    const { processes: said } = await exec({ background: true }, listed(MAX_PROCESSES));
    expect([said?.started?.id, said?.forgotten, log]).toEqual(["p", ["p1"], ["forget p1"]]);
  });

  it("are not started if all of them run", async () => {
    running = new Set(Array.from({ length: MAX_PROCESSES }, (_, n) => `p${n}`));
    await expect(exec({ background: true }, listed(MAX_PROCESSES))).rejects.toThrow("processes run already");
    expect(started).toEqual([]);
    await exec({}, listed(MAX_PROCESSES));
    expect(started).toHaveLength(1);
  });

  it("are judged by the gate when something is written to them: a shell may read it", async () => {
    const { effects } = processTool(deps());
    expect(await effects?.({ action: "write", id: "p", text: "rm -r x" }, context())).toEqual([
      {
        ...{ action: "process", rights: ["exec"] },
        detail: { kind: "unparsed", line: "rm -r x", cwd: "", why: expect.any(String) },
      },
    ]);
    for (const action of ["list", "read", "wait", "stop"] as const)
      expect(await effects?.({ action, id: "p" }, context())).toEqual([]);
  });
});
