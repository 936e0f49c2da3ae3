/**
 * Installs an optional package into the home with npm: exactly what its lock file names, each checked by its integrity, and without running
 * any script of a package. After a kill in between it is incomplete, which the loader sees, and is installed again. Of an install that
 * failed nothing stays but the lock file.
 */
import { spawn } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { cutText } from "../../../core/cut-text.ts";
import { makeDirectory } from "../../system/make-directory.ts";
import { findPackage, packageDirectory } from "./load-package.ts";
import { type Locked, lockOf, manifestOf, type OptionalPackage } from "./optional-package.ts";

type Installed =
  | { readonly status: "installed" }
  /** `command`: what a person can run later, or on a machine with a network. */
  | { readonly status: "no-network" | "failed"; readonly reason: string; readonly command: string };

interface InstallDeps {
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

const NPM_ARGS = [
  // Its errors are read: the environment may tell npm to say nothing, as `npm run -s` does.
  ...["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"],
  ...["--fetch-retries=1", "--fetch-retry-mintimeout=500", "--fetch-retry-maxtimeout=2000", "--fetch-timeout=60000"],
];
const TIMEOUT_MS = 10 * 60_000;
const MAX_OUTPUT = 20_000;
const MAX_REASON = 400;
const UNREACHABLE =
  /ENOTFOUND|ECONNREFUSED|ECONNRESET|ETIMEDOUT|EAI_AGAIN|ENETUNREACH|EHOSTUNREACH|ERR_SOCKET_TIMEOUT/u;

/** Writes the lock file into the home. Returns the command that then installs the package by hand. */
export function prepareInstall(home: string, one: OptionalPackage): string {
  const directory = packageDirectory(home, one);
  writeManifest(directory, one, lockOf(one));
  return `npm ci --ignore-scripts --prefix ${JSON.stringify(directory)}`;
}

/** Never rejects for what npm says. Rejects if the home cannot be written. */
export async function installPackage(one: OptionalPackage, deps: InstallDeps): Promise<Installed> {
  const { home, env } = deps;
  const command = prepareInstall(home, one);
  const directory = packageDirectory(home, one);
  const { code, output } = await runNpm(directory, env);
  if (code === 0 && findPackage(one, { ...deps, env: {} }) !== undefined) return { status: "installed" };
  rmSync(join(directory, "node_modules"), { recursive: true, force: true });
  const reason =
    reasonIn(output) || (code === 0 ? "npm installed something else" : `npm ended with ${code ?? "a signal"}`);
  return { status: code === undefined || UNREACHABLE.test(output) ? "no-network" : "failed", reason, command };
}

function writeManifest(directory: string, one: OptionalPackage, locked: Locked): void {
  makeDirectory(directory);
  const manifest = manifestOf(one);
  const { name, dependencies } = manifest;
  const lock = { name, lockfileVersion: 3, requires: true, packages: { "": { name, dependencies }, ...locked } };
  writeFileSync(join(directory, "package.json"), JSON.stringify(manifest));
  writeFileSync(join(directory, "package-lock.json"), JSON.stringify(lock));
}

/** `code` is undefined if there is no npm. */
function runNpm(
  cwd: string,
  env: InstallDeps["env"],
): Promise<{ readonly code?: number | null; readonly output: string }> {
  return new Promise((resolve) => {
    const child = spawn("npm", NPM_ARGS, {
      cwd,
      env: { ...env },
      stdio: ["ignore", "pipe", "pipe"],
      timeout: TIMEOUT_MS,
    });
    let output = "";
    const add = (chunk: Buffer): void => {
      output = `${output}${chunk.toString("utf8")}`.slice(-MAX_OUTPUT);
    };
    child.stdout.on("data", add);
    child.stderr.on("data", add);
    child.once("error", (error) => resolve({ output: `npm cannot be run: ${error.message}` }));
    child.once("close", (code) => resolve({ code, output }));
  });
}

/** The lines of npm that say what is wrong. */
function reasonIn(output: string): string {
  const lines = output.split("\n").flatMap((line) => {
    const said = line.startsWith("npm error ")
      ? line.slice("npm error ".length)
      : line.startsWith("npm cannot")
        ? line
        : "";
    return said === "" || said.startsWith("A complete log") ? [] : [said.trim()];
  });
  return cutText(lines.join(" "), MAX_REASON);
}
