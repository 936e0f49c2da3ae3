/**
 * The sandbox for commands: the one of this machine, after it refused everything it must refuse (M41). It is tried once for each kernel,
 * account, and version of the sandbox or image, before the first command.
 */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { release } from "node:os";
import { delimiter, join } from "node:path";
import { DeniedError } from "../../core/errors.ts";
import { ATTEMPTS, type Attempt, type AttemptPlace, makeAttempts } from "./attempts.ts";
import { noSandbox, openSandbox, type SandboxSettings } from "./open-sandbox.ts";
import type { Sandbox, SandboxKind } from "./sandbox.ts";
import { vendorDirectory } from "./socket-filter.ts";

/** Throws `DeniedError` if this machine has no sandbox, or has one in which an attempt succeeds. */
export async function openTriedSandbox(settings: SandboxSettings, place: AttemptPlace): Promise<Sandbox> {
  const choice = await openSandbox(settings);
  const { sandbox } = choice;
  if (!sandbox) throw noSandbox(choice);
  try {
    const refusal = refusalOf(sandbox.kind, await attemptsOnce(sandbox, place, settings));
    if (refusal) throw refusal;
    return sandbox;
  } catch (error) {
    await sandbox.close();
    throw error;
  }
}

/** The error of a sandbox in which an attempt succeeded. */
export function refusalOf(kind: SandboxKind, attempts: readonly Attempt[]): DeniedError | undefined {
  const succeeded = attempts.filter(({ outcome }) => outcome === "succeeded");
  if (succeeded.length === 0) return undefined;
  const what = succeeded.map(({ name }) => ATTEMPTS[name]).join("; ");
  return new DeniedError(`The sandbox ${kind} is not used, because in it a command could ${what}.`, {
    hint: "Update bubblewrap, run Rookery as another user than root, or set sandbox.kind to another sandbox. `rookery doctor` tries again",
  });
}

const tried = new Map<string, Promise<readonly Attempt[]>>();

/** A sandbox that failed is tried again by the next command: someone may have repaired it. */
async function attemptsOnce(
  sandbox: Sandbox,
  place: AttemptPlace,
  { dockerImage = "" }: SandboxSettings,
): Promise<readonly Attempt[]> {
  const isDocker = sandbox.kind === "docker";
  const program = programAt(isDocker ? "docker" : "bwrap", place.env.PATH ?? process.env.PATH);
  const version = await outputOf(
    program,
    isDocker ? ["image", "inspect", "--format", "{{.Id}}", dockerImage] : ["--version"],
  );
  const key = JSON.stringify([release(), process.getuid?.(), sandbox.kind, program, version, vendorDirectory()]);
  const before = tried.get(key);
  if (before) return before;
  const attempts = makeAttempts(sandbox, place);
  tried.set(key, attempts);
  const forget = (): void => void tried.delete(key);
  attempts.then((made) => refusalOf(sandbox.kind, made) && forget(), forget);
  return attempts;
}

const programAt = (name: string, path = ""): string =>
  path
    .split(delimiter)
    .map((directory) => join(directory, name))
    .find((file) => existsSync(file)) ?? name;

const outputOf = (program: string, args: readonly string[]): Promise<string> =>
  new Promise((resolve) => {
    execFile(program, args, { timeout: 10_000 }, (error, stdout) => resolve(error ? "" : stdout.trim()));
  });
