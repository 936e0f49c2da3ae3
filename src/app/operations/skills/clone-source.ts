/**
 * A git repository as a source, fetched by the git of this machine. It is fetched without a checkout, so no hook, filter or submodule of it
 * can act, and read as an archive with the same checks as every other one. git asks nothing, and time and size are bounded.
 */
import { spawn } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { commandEnvironment } from "../../../adapters/system/command-environment.ts";
import { InvalidInputError, TimeoutError } from "../../../core/errors.ts";
import { readEntries } from "./read-archive.ts";
import type { SourceTree } from "./source-tree.ts";

interface Repository {
  readonly url: string;
  /** A branch or tag; default: what the repository names. */
  readonly ref?: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

const TIME_MS = 120_000;
/** In blocks of 512 bytes: no file that git writes is larger than 256 MB. */
const MAX_BLOCKS = 524_288;
const MAX_ERRORS = 4_000;

/** What git needs for proxies and keys of the person who runs the command; nothing else of the environment. */
const PASSED = ["SSH_AUTH_SOCK", "HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy", "XDG_CONFIG_HOME"];
const QUIET = {
  GIT_TERMINAL_PROMPT: "0",
  GIT_ASKPASS: "false",
  SSH_ASKPASS: "false",
  GIT_SSH_COMMAND: "ssh -o BatchMode=yes",
  GIT_LFS_SKIP_SMUDGE: "1",
  GIT_ALLOW_PROTOCOL: "https:http:ssh:git:file",
  LC_ALL: "C",
};
const SAFE = [
  ...["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"],
  ...["-c", "submodule.recurse=false", "-c", "gc.auto=0", "-c", "maintenance.auto=false"],
];

/** They come before those of the repository: content is taken as it was committed, by no filter of this machine. */
const NO_ATTRIBUTES = "* -filter -ident -text -eol -working-tree-encoding -export-ignore -export-subst\n";

export async function cloned<T>(
  { url, ref }: Repository,
  env: Environment,
  use: (tree: SourceTree, commit: string) => Promise<T>,
  timeMs = TIME_MS,
): Promise<T> {
  const directory = await mkdtemp(join(tmpdir(), "rookery-skill-"));
  try {
    const into = join(directory, "repository.git");
    const branch = ref === undefined ? [] : ["--branch", ref];
    const options = ["--bare", "--depth=1", "--single-branch", "--no-tags", "--no-recurse-submodules", "--template="];
    const git = (args: readonly string[]) => run([...SAFE, ...args], env, timeMs);
    await text(git(["clone", "--quiet", ...options, ...branch, "--", url, into]), url);
    await mkdir(join(into, "info"), { recursive: true });
    await writeFile(join(into, "info", "attributes"), NO_ATTRIBUTES);
    const commit = (await text(git(["-C", into, "rev-parse", "--verify", "HEAD^{commit}"]), url)).trim();
    const archive = git(["-C", into, "archive", "--format=tar", commit]);
    const tree = await readEntries(archive.child.stdout).finally(() => archive.closed);
    await archive.ended(url);
    return await use(tree, commit);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

function run(args: readonly string[], env: Environment, timeMs: number) {
  const passed = Object.fromEntries(PASSED.flatMap((name) => (env[name] ? [[name, env[name]]] : [])));
  // The shell only sets the limit: git is given its arguments as they are.
  const child = spawn("/bin/sh", ["-c", `ulimit -f ${MAX_BLOCKS}; exec git "$@"`, "git", ...args], {
    env: { ...commandEnvironment(env), ...passed, ...QUIET },
    stdio: ["ignore", "pipe", "pipe"],
    cwd: "/",
    detached: true,
  });
  let errors = "";
  child.stderr.on("data", (chunk: Buffer) => {
    if (errors.length < MAX_ERRORS) errors += chunk.toString("utf8");
  });
  const kill = (): void => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
    } catch {
      // It has ended.
    }
  };
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    kill();
  }, timeMs);
  const closed = new Promise<number>((resolve) => {
    child.on("error", () => resolve(127));
    child.on("close", (code) => resolve(code ?? 137));
  }).finally(() => clearTimeout(timer));
  const ended = async (url: string): Promise<void> => {
    const code = await closed;
    // Nothing that it has started goes on.
    kill();
    if (isLate) throw new TimeoutError(`git did not fetch ${url} within ${timeMs / 1_000} seconds.`);
    if (code !== 0) throw failed(url, code, errors);
  };
  return { child, closed, ended };
}

async function text({ child, ended }: ReturnType<typeof run>, url: string): Promise<string> {
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => {
    if (output.length < MAX_ERRORS) output += chunk.toString("utf8");
  });
  await ended(url);
  return output;
}

function failed(url: string, code: number, errors: string): InvalidInputError {
  const lines = errors.split("\n").map((line) => line.trim());
  const said = lines
    .filter((line) => /^(?:fatal|error|remote):/.test(line))
    .slice(0, 2)
    .join(" ");
  const why = code === 127 ? "git is not installed" : said.slice(0, 500) || `git ended with ${code}`;
  return new InvalidInputError(`${url} cannot be fetched: ${why.replace(/\.$/, "")}.`, {
    hint: "Try `git clone` with it. A repository that wants a password needs a credential helper. Nothing was changed.",
  });
}
