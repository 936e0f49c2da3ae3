/**
 * Tries from inside a sandbox everything that it must refuse (M41): one program makes every attempt once. Files are opened for writing and
 * closed, never written. A listener that something reached counts, whatever the program says.
 */
import { spawn } from "node:child_process";
import { mkdir, mkdtemp, open, readdir, realpath, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { DeniedError } from "../../core/errors.ts";
import { ATTEMPT_SCRIPT } from "./attempt-script.ts";
import { hiddenPaths, programPaths } from "./hidden-paths.ts";
import { mountsOf } from "./mounts.ts";
import type { Sandbox, SandboxPolicy } from "./sandbox.ts";

/** Each attempt, as the end of "a command could …". */
export const ATTEMPTS = {
  loopback: "reach a port of this machine",
  outside: "reach an address of the network",
  home: "read Rookery's home",
  userHome: "read the home directory of the account",
  otherWorkspace: "read another workspace",
  controlSocket: "reach a socket in Rookery's home",
  workspaceSocket: "reach a Unix socket in the workspace",
  readOnlySocket: "reach a Unix socket in a read-only directory",
  workspaceDatagram: "send to a Unix socket in the workspace",
  readOnlyDatagram: "send to a Unix socket in a read-only directory",
  procSys: "open a file of /proc/sys for writing",
  procIrq: "open a file of /proc/irq for writing",
  procBus: "open a file of /proc/bus for writing",
} as const;

type AttemptName = keyof typeof ATTEMPTS;

/** `untried`: the sandbox has no program for it. */
type Outcome = "refused" | "succeeded" | "untried";

export interface Attempt {
  readonly name: AttemptName;
  readonly outcome: Outcome;
}

export interface AttemptPlace {
  /** Rookery's home, which commands do not see. */
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

const NAMES = Object.keys(ATTEMPTS) as readonly AttemptName[];
/** A program in the sandbox that takes longer is killed. */
const MAX_MS = 20_000;
const MAX_OUTPUT = 20_000;
/** Reserved for documentation: no one answers there. */
const OUTSIDE = "192.0.2.1";

/** Throws `DeniedError` if the program does not run, because then nothing is known. */
export async function makeAttempts(sandbox: Sandbox, { home, env }: AttemptPlace): Promise<readonly Attempt[]> {
  const { PATH = process.env.PATH } = env;
  const root = await mkdtemp(join(await realpath(home), "sandbox-check-"));
  const at = (name: string): string => join(root, name);
  const listeners = new Listeners();
  try {
    for (const name of ["workspace", "other", "read-only", "control"]) await mkdir(at(name));
    for (const path of [at("secret"), at("other/secret")]) await writeFile(path, "");
    const policy: SandboxPolicy = {
      cwd: at("workspace"),
      writable: [at("workspace")],
      readable: [...programPaths(PATH), dirname(process.execPath), at("read-only")],
      hidden: [...hiddenPaths(homedir()), home],
      frozen: [],
      domains: [],
    };
    await listeners.listen("controlSocket", at("control"));
    await listeners.listen("workspaceSocket", at("workspace"));
    await listeners.listen("readOnlySocket", at("read-only"));
    const asked = {
      port: await listeners.listen("loopback"),
      outside: OUTSIDE,
      home: at("secret"),
      otherWorkspace: at("other/secret"),
      userHome: await hiddenNames(homedir(), policy),
      sockets: { controlSocket: at("control"), workspaceSocket: at("workspace"), readOnlySocket: at("read-only") },
    };
    // A container has the programs of its image.
    const program = sandbox.kind === "docker" ? "node" : process.execPath;
    const said = await run(sandbox, policy, [program, "-e", ATTEMPT_SCRIPT, JSON.stringify(asked)], PATH);
    return NAMES.map((name) => ({ name, outcome: listeners.reached.has(name) ? "succeeded" : outcomeOf(said[name]) }));
  } finally {
    await listeners.close();
    await rm(root, { recursive: true, force: true });
  }
}

/** An attempt without a result counts as succeeded. */
const outcomeOf = (said: unknown): Outcome => (said === "refused" || said === "untried" ? said : "succeeded");

/** The socket of a directory has this name. The path is short for the program, which goes there first. */
const SOCKET = "s";

class Listeners {
  readonly reached = new Set<AttemptName>();
  readonly #servers: Server[] = [];

  /** On a socket in this directory, or on a port, which it returns. */
  async listen(name: AttemptName, directory?: string): Promise<number> {
    const server = createServer((connection) => {
      this.reached.add(name);
      connection.destroy();
    });
    this.#servers.push(server);
    // The path of a socket has at most 107 bytes, and a home may be deeper. Only Linux has a shorter one.
    const isShort = process.platform !== "linux";
    const handle = directory === undefined || isShort ? undefined : await open(directory);
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      if (handle) server.listen(`/proc/self/fd/${handle.fd}/${SOCKET}`, resolve);
      else if (directory !== undefined) server.listen(join(directory, SOCKET), resolve);
      else server.listen(0, "127.0.0.1", resolve);
    });
    await handle?.close();
    const address = server.address();
    return address !== null && typeof address === "object" ? address.port : 0;
  }

  async close(): Promise<void> {
    await Promise.all(this.#servers.map((server) => new Promise((resolve) => server.close(resolve))));
  }
}

/** Some names in a hidden directory that are not on the way to something that is shown. */
async function hiddenNames(directory: string, policy: SandboxPolicy): Promise<readonly string[]> {
  if (directory === "/") return [];
  const real = await realpath(directory).catch(() => directory);
  const shown = (await mountsOf(policy)).filter(({ mode }) => mode !== "hide").map(({ path }) => `${path}/`);
  const paths = (await readdir(real).catch(() => [])).map((name) => join(real, name));
  return paths.filter((path) => !shown.some((one) => one.startsWith(`${path}/`))).slice(0, 100);
}

async function run(
  sandbox: Sandbox,
  policy: SandboxPolicy,
  argv: readonly string[],
  path: string | undefined,
): Promise<Readonly<Record<string, unknown>>> {
  const { argv: wrapped, release } = await sandbox.wrap(argv, policy, ["PATH"], new AbortController().signal);
  const [program = "", ...args] = wrapped;
  try {
    const { said, errors } = await saidBy(program, args, policy.cwd, path);
    const found = /^rookery-attempts (\{.*\})$/m.exec(said)?.[1];
    if (found !== undefined) return JSON.parse(found) as Record<string, unknown>;
    const why = errors.trim().split("\n", 1)[0]?.slice(0, 300) || "its program said nothing";
    throw new DeniedError(`The sandbox ${sandbox.kind} cannot be tried: ${why}`, {
      hint: `${sandbox.kind === "docker" ? "The image needs node. " : ""}Run \`rookery doctor\`, or set sandbox.kind to another sandbox.`,
    });
  } finally {
    release();
  }
}

/** Collects the output of a program. It never rejects: an error would show the arguments, and some are secret. */
function saidBy(program: string, args: readonly string[], cwd: string, path: string | undefined) {
  return new Promise<{ readonly said: string; readonly errors: string }>((resolve) => {
    // No input: a shell would read its start-up files if that were a socket.
    const stdio: ["ignore", "pipe", "pipe"] = ["ignore", "pipe", "pipe"];
    const child = spawn(program, args, { cwd, env: { PATH: path }, timeout: MAX_MS, killSignal: "SIGKILL", stdio });
    let [said, errors] = ["", ""];
    child.stdout.on("data", (part: Buffer) => {
      said = (said + part.toString()).slice(-MAX_OUTPUT);
    });
    child.stderr.on("data", (part: Buffer) => {
      errors = (errors + part.toString()).slice(0, MAX_OUTPUT);
    });
    child.once("error", ({ message }) => resolve({ said, errors: message }));
    child.once("close", () => resolve({ said, errors }));
  });
}
