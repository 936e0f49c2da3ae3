/** The settings that the sandbox runtime gets for each command: its files, its hosts, its sockets. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, expect, it, vi } from "vitest";
import type { Sandbox, SandboxPolicy } from "./sandbox.ts";
import { socketHelper } from "./socket-filter.ts";
import { srtProblem, srtSandbox } from "./srt-sandbox.ts";

interface Settings {
  readonly network: { readonly allowAllUnixSockets: boolean; readonly deniedResolvedAddresses: readonly string[] };
}
interface Wrapped {
  readonly command: string;
  readonly config: {
    readonly network: object;
    readonly filesystem: Record<string, readonly { readonly path: string }[]>;
  };
  readonly commandId: string;
  readonly sockets: boolean;
}

const runtime = vi.hoisted(() => ({
  settings: [] as unknown[],
  wrapped: [] as unknown[],
  lists: new Map<string, readonly string[]>(),
  log: [] as string[],
  errors: [] as string[],
  isSupported: true,
  fails: false,
}));

vi.mock("@anthropic-ai/sandbox-runtime", () => ({
  SandboxManager: {
    isSupportedPlatform: () => runtime.isSupported,
    checkDependencies: () => ({ errors: runtime.errors }),
    async initialize(settings: unknown) {
      runtime.log.push("start");
      runtime.settings.push(settings);
      process.on("SIGTERM", () => {});
    },
    updateConfig: (settings: unknown) => void runtime.settings.push(settings),
    getLinuxHttpSocketPath: () => "/run/proxy.sock",
    async wrapWithSandboxArgv(
      command: string,
      _shell: string,
      config: unknown,
      _signal: unknown,
      _cwd: string,
      { commandId }: { commandId: string },
    ) {
      const now = runtime.settings.at(-1) as Settings;
      // Others that do not wait for their turn begin now.
      for (let turns = 0; turns < 5; turns++) await new Promise(setImmediate);
      if (runtime.fails) throw new TypeError("no");
      runtime.wrapped.push({ command, config, commandId, sockets: now.network.allowAllUnixSockets });
      return { argv: ["sh", "-c", `bwrap --proc /proc -- sh -c 'sh -c "A=0 ${socketHelper()} sh -c true"'`] };
    },
    registerCommandNetworkLists: (id: string, { allowedDomains }: { allowedDomains: string[] }) =>
      void runtime.lists.set(id, allowedDomains),
    unregisterCommandNetworkLists: (id: string) => void runtime.lists.delete(id),
    cleanupAfterCommand: () => void runtime.log.push("cleanup"),
    reset: async () => void runtime.log.push("reset"),
  },
}));

const root = realpathSync(mkdtempSync(join(tmpdir(), "rookery-srt-")));
mkdirSync(join(root, "ws"));
for (const name of ["token", "ws/SOUL.md", "tool"]) writeFileSync(join(root, name), "");
afterAll(() => rmSync(root, { recursive: true }));
beforeEach(() => {
  for (const list of [runtime.settings, runtime.wrapped, runtime.log]) list.length = 0;
  runtime.lists.clear();
  Object.assign(runtime, { errors: [], isSupported: true, fails: false });
  sandbox = srtSandbox();
});
afterEach(() => sandbox.close());

const policy = (more: Partial<SandboxPolicy> = {}): SandboxPolicy => ({
  cwd: join(root, "ws"),
  writable: [join(root, "ws")],
  readable: [join(root, "tool")],
  hidden: [join(root, "token")],
  frozen: [join(root, "ws", "SOUL.md")],
  domains: ["example.org"],
  ...more,
});
const { signal } = new AbortController();
let sandbox: Sandbox;
const wrap = (more?: Partial<SandboxPolicy>, argv = ["echo", "a b"]) => sandbox.wrap(argv, policy(more), [], signal);
const last = (): Wrapped => runtime.wrapped.at(-1) as Wrapped;
const paths = (key: string) => last().config.filesystem[key]?.map(({ path }) => path);

it("starts the runtime once, without hosts, sockets and addresses of private networks, and adds no listener", async () => {
  const before = process.listenerCount("SIGTERM");
  await Promise.all([wrap(), wrap()]);
  expect(runtime.log).toEqual(["start"]);
  expect(process.listenerCount("SIGTERM")).toBe(before);
  const { network } = runtime.settings[0] as Settings;
  expect(network).toMatchObject({ allowedDomains: [], allowAllUnixSockets: false });
  expect(network.deniedResolvedAddresses.length).toBeGreaterThan(10);
});

it("passes on what is hidden, readable, writable and frozen", async () => {
  await wrap();
  expect(paths("denyRead")).toEqual([join(root, "token")]);
  expect(paths("allowRead")?.[0]).toBe(join(root, "tool"));
  expect(paths("allowRead")).toContain("/run/proxy.sock");
  expect(paths("allowWrite")).toEqual([join(root, "ws")]);
  expect(paths("denyWrite")).toEqual([join(root, "ws", "SOUL.md")]);
  expect(last().config.network).toEqual({ allowedDomains: [], deniedDomains: [] });
  expect(last().command).toBe(`cd ${join(root, "ws")} && TMPDIR=/tmp exec echo 'a b'`);
});

it("lets each command reach its own hosts until it has ended", async () => {
  const [one, other] = [await wrap(), await wrap({ domains: [] })];
  const [first, second] = runtime.wrapped.slice(-2) as Wrapped[];
  expect(first?.commandId).not.toBe(second?.commandId);
  expect(first?.commandId.length).toBeGreaterThanOrEqual(32);
  expect([...runtime.lists.values()]).toEqual([["example.org"], []]);
  one.release();
  one.release();
  expect([...runtime.lists.keys()]).toEqual([second?.commandId]);
  expect(runtime.log).toEqual(["start", "cleanup"]);
  other.release();
  expect(runtime.lists.size).toBe(0);
});

it("gives sockets only to the command that has them, with several at once and after a failure", async () => {
  const each = [undefined, true, undefined, true, false];
  await Promise.all(each.map((sockets) => wrap({ sockets }, [sockets ? "with" : "without"])));
  expect(runtime.wrapped).toHaveLength(each.length);
  for (const { command, sockets } of runtime.wrapped as Wrapped[]) expect(command.endsWith("exec with")).toBe(sockets);
  runtime.fails = true;
  const listed = runtime.lists.size;
  await expect(wrap({ sockets: true })).rejects.toThrow("no");
  expect(runtime.lists.size).toBe(listed);
  runtime.fails = false;
  await wrap();
  expect(last().sockets).toBe(false);
});

it("is ended by a sandbox that was used, and starts again", async () => {
  await wrap();
  await srtSandbox().close();
  expect(runtime.log).toEqual(["start"]);
  await sandbox.close();
  expect(runtime.log).toEqual(["start", "reset"]);
  await wrap();
  expect(runtime.log).toEqual(["start", "reset", "start"]);
});

it("says what is missing", async () => {
  expect(await srtProblem()).toBeUndefined();
  runtime.errors = ["no socat", "no bwrap"];
  expect(await srtProblem()).toBe("no socat; no bwrap");
  runtime.isSupported = false;
  expect(await srtProblem()).toBe("it does not support this system");
});
