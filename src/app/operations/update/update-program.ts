/**
 * Installs another version of this program and checks it on the home. Before: a backup, and a copy of the program beside it. If the new
 * one does not start, cannot open the home, or finds problems that were not there before, both are put back.
 */
import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { cp, mkdtemp, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import type { Config } from "../../../config/config-schema.ts";
import { backupDirectory, type HomePaths } from "../../../config/paths.ts";
import { cutText } from "../../../core/cut-text.ts";
import { ConfigError, InvalidInputError, NotFoundError, ServerUnavailableError } from "../../../core/errors.ts";
import { backupName } from "../backup/backup-names.ts";
import { createBackup } from "../backup/create-backup.ts";
import { DATABASE } from "../backup/manifest.ts";
import { readBackup } from "../backup/read-backup.ts";
import { replaceDatabase } from "../backup/replace-database.ts";

type Environment = Readonly<Record<string, string | undefined>>;

interface UpdateDeps {
  /** The directory of the installed package. */
  readonly root: string;
  readonly paths: HomePaths;
  readonly config: Config;
  readonly env: Environment;
  readonly now: number;
  readonly onProgress?: (text: string) => void;
}

export interface UpdateReport {
  readonly from: string;
  readonly to: string;
  readonly status: "updated" | "same" | "put back";
  /** Why it was put back. */
  readonly reason: string | null;
  readonly backup: string | null;
}

interface Installation {
  readonly name: string;
  readonly version: string;
  readonly program: string;
  readonly prefix: string;
}

/** Throws with the command that updates, if this is not a program that npm has installed for all directories. */
export function installationAt(root: string): Installation {
  const { name, version, bin } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    name: string;
    version: string;
    bin: Record<string, string>;
  };
  const modules = dirname(root);
  if (basename(modules) !== "node_modules") {
    throw new ConfigError(`This program runs from ${root}, which npm did not install.`, {
      hint: "Update a checkout with git. Install the program with: npm install --global rookery",
    });
  }
  if (basename(dirname(modules)) !== "lib") {
    throw new ConfigError(`This program belongs to the project in ${dirname(modules)}.`, {
      hint: `Make a backup with \`rookery backup\`, then run: npm install ${name}@latest`,
    });
  }
  return { name, version, program: join(root, Object.values(bin)[0] ?? ""), prefix: dirname(dirname(modules)) };
}

/** The version that `npm` would install. Throws if there is no such version, or if the registry does not answer. */
export async function availableVersion({ root, env }: Pick<UpdateDeps, "root" | "env">, tag: string): Promise<string> {
  const { name } = installationAt(root);
  const { code, output } = await run("npm", ["view", `${name}@${tag}`, "version", "--json"], env);
  const said = parsed(output);
  const found = Array.isArray(said) ? said.at(-1) : said;
  if (code === 0 && typeof found === "string") return found;
  const { code: problem = "", summary = lastOf(output) } = (found as NpmError | undefined)?.error ?? {};
  // npm prints nothing for a version that does not exist, and E404 for a package that does not.
  if (code === 0 || problem === "E404" || problem === "ETARGET")
    throw new NotFoundError(`The registry has no version "${tag}" of ${name}.`, {
      hint: `\`npm view ${name} versions\` lists those that there are. Nothing was changed.`,
    });
  throw new ServerUnavailableError(`npm cannot ask the registry: ${summary}`, {
    hint: "Check the network, and the registry that npm uses: `npm config get registry`. Nothing was changed.",
  });
}

interface NpmError {
  readonly error?: { readonly code?: string; readonly summary?: string };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** `wanted`: what npm installs, such as `latest`, `1.2.0`, or the path of a tarball. Rejects if nothing was changed. */
export async function updateProgram(deps: UpdateDeps, wanted: string, isFile = false): Promise<UpdateReport> {
  const { root, paths, env, onProgress = () => {} } = deps;
  const old = installationAt(root);
  const before = await problemsOf(deps, old.program);
  const backup = await backedUp(deps);
  const copy = join(dirname(root), `.${old.name}-before-update`);
  onProgress(`Keeping the program in ${copy} until the new one works.`);
  await rm(copy, { recursive: true, force: true });
  await cp(root, copy, { recursive: true, verbatimSymlinks: true });
  const spec = isFile ? wanted : `${old.name}@${wanted}`;
  onProgress(`Installing ${spec}.`);
  // Scripts would run as the owner before anyone looked at the new version. No dependency needs one to work.
  const how = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel", "error"];
  const args = ["install", "--global", "--prefix", old.prefix, ...how, spec];
  const installed = await run("npm", args, env);
  const reason =
    installed.code === 0 ? await wrongWith(deps, before) : `npm could not install it: ${lastOf(installed.output)}`;
  const to = versionIn(root) ?? "unknown";
  if (reason === undefined) {
    await rm(copy, { recursive: true, force: true });
    return { from: old.version, to, status: to === old.version ? "same" : "updated", reason: null, backup };
  }
  onProgress(`${reason} Putting ${old.version} back.`);
  await rm(root, { recursive: true, force: true });
  await rename(copy, root);
  if (backup !== null) await databaseBack(paths, backup, deps.now);
  return { from: old.version, to, status: "put back", reason, backup };
}

async function backedUp({ paths, config, env, now, onProgress = () => {} }: UpdateDeps): Promise<string | null> {
  if (!existsSync(paths.database)) return null;
  onProgress("Making a backup.");
  const file = join(backupDirectory(paths), backupName(now));
  await createBackup({ paths, config, env, file, now });
  return file;
}

/** The reason not to keep the new program; undefined if it works. It opens the home for writing, which migrates the database. */
async function wrongWith(deps: UpdateDeps, before: ReadonlySet<string>): Promise<string | undefined> {
  const { root, paths, env, onProgress = () => {} } = deps;
  onProgress("Checking the new version on this home.");
  const { program, version } = installationAt(root);
  const started = await run(process.execPath, [program, "--version"], env);
  if (started.code !== 0 || !started.output.includes(version))
    return `The new program does not start: ${lastOf(started.output)}`;
  if (existsSync(paths.database)) {
    const opened = await run(
      process.execPath,
      [program, "engine", "prune", "--dry-run", "--json", "--home", paths.home],
      env,
    );
    if (opened.code !== 0) return `The new program cannot open the home: ${lastOf(opened.output)}`;
  }
  try {
    const fresh = [...(await problemsOf(deps, program))].filter((one) => !before.has(one));
    return fresh.length === 0 ? undefined : `The new program finds problems: ${fresh.join(", ")}.`;
  } catch (error) {
    return (error as Error).message;
  }
}

/** The checks of the doctor that find a problem. */
async function problemsOf({ paths, env }: UpdateDeps, program: string): Promise<ReadonlySet<string>> {
  const { output } = await run(process.execPath, [program, "doctor", "--json", "--home", paths.home], env);
  try {
    const { items } = JSON.parse(output) as { items: readonly { check: string; status: string }[] };
    return new Set(items.filter(({ status }) => status === "problem").map(({ check }) => check));
  } catch {
    throw new InvalidInputError(`The doctor does not answer: ${lastOf(output)}`);
  }
}

/** As it was before the new program opened it. No engine ran since, so its open work continues. */
async function databaseBack(paths: HomePaths, backup: string, now: number): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), "rookery-update-"));
  try {
    const only = (path: string): boolean => path === DATABASE;
    await readBackup(backup, { into: directory, only, maxBytes: Number.POSITIVE_INFINITY });
    replaceDatabase({ paths, file: join(directory, DATABASE), now });
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

function versionIn(root: string): string | undefined {
  try {
    return (JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string }).version;
  } catch {
    return undefined;
  }
}

const TIMEOUT_MS = 10 * 60_000;
const MOST_OUTPUT = 1024 * 1024;
const lastOf = (output: string): string => cutText(output.trim().split("\n").slice(-4).join(" "), 600);

function run(
  command: string,
  args: readonly string[],
  env: Environment,
): Promise<{ code: number | null; output: string }> {
  return new Promise((resolve) => {
    const child = spawn(command, args, { env: { ...env }, stdio: ["ignore", "pipe", "pipe"], timeout: TIMEOUT_MS });
    let [output, errors] = ["", ""];
    child.stdout.on("data", (chunk: Buffer) => {
      output = `${output}${chunk.toString()}`.slice(-MOST_OUTPUT);
    });
    child.stderr.on("data", (chunk: Buffer) => {
      errors = `${errors}${chunk.toString()}`.slice(-MOST_OUTPUT);
    });
    child.once("error", (error) => resolve({ code: null, output: `${command} cannot be run: ${error.message}` }));
    child.once("close", (code) => resolve({ code, output: output === "" ? errors : output }));
  });
}
