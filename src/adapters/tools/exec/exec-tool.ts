/**
 * `exec`: runs a command in the sandbox. Never repeated after a crash (L4): what it has done is not known. It ends with its
 * group when the run ends, when its time is over, and when nobody waits for it any more.
 */
import { existsSync } from "node:fs";
import { delimiter, isAbsolute, resolve } from "node:path";
import { z } from "zod";
import type { AgentRecord } from "../../../core/agent/agent.ts";
import { MAX_PROCESSES } from "../../../core/agent/background-process.ts";
import { DeniedError, InvalidInputError, TooLargeError } from "../../../core/errors.ts";
import type { Tool, ToolContext, ToolOutput } from "../../../core/ports/tool.ts";
import { allowedPath, directoriesOf, isInside, type Places } from "../files/allowed-path.ts";
import { authorOf } from "../files/file-changes.ts";
import { writesMarked } from "../files/file-marks.ts";
import { findRepositories } from "../files/repository-files.ts";
import { asideNote } from "../files/set-aside.ts";
import { commandEffects } from "./command-effects.ts";
import type { ExecDeps } from "./exec-deps.ts";
import { gitEnvironment, onlyReadsWithGit } from "./git-commands.ts";
import { guardRepositories, mayWriteRepositories } from "./guard-repositories.ts";
import type { SecretValues } from "./output-secrets.ts";
import { MAX_SHOWN, shownOutput, shownPart } from "./output-text.ts";
import { sizeOf } from "./process-files.ts";
import { type KnownProcess, Processes, type ProcessState } from "./processes.ts";
import { settleFiles } from "./settle-files.ts";

const MAX_COMMAND = 100_000;
const MAX_ARGUMENTS = 1_000;
const DEFAULT_SECONDS = 120;
const MAX_SECONDS = 3_600;
/** Characters of a command in a change that it has made. */
const MAX_WHY = 500;

const input = z.strictObject({
  command: z
    .union([z.string().min(1).max(MAX_COMMAND), z.array(z.string().max(MAX_COMMAND)).min(1).max(MAX_ARGUMENTS)])
    .describe("A shell line, or the program and its arguments as a list"),
  cwd: z.string().optional().describe("Where it runs, relative to the workspace"),
  timeoutSeconds: z.int().min(1).optional(),
  background: z.boolean().optional().describe("Do not wait for its end; see process"),
  secrets: z.array(z.string()).max(20).optional().describe("Names of secrets it gets as environment variables"),
});
type ExecInput = z.infer<typeof input>;

export const execTool = (deps: ExecDeps): Tool<ExecInput> => ({
  name: "exec",
  description:
    "Runs a command in a sandbox: the workspace is writable, the network is limited. Returns output and exit code.",
  input,
  rights: ["exec"],
  replay: "never",
  parallel: false,
  maxOutput: MAX_SHOWN + 1_000,
  effects: (given, { agent }) => commandEffects(deps, agent, given),
  async execute(given, context) {
    const { agent, runId, callId, agentId, signal } = context;
    const places = await deps.placesOf(agent);
    const cwd = await directoryOf(deps, places, given.cwd);
    const secrets = secretsOf(deps, given.secrets ?? []);
    const isHost = (await deps.hostOf(agent, context)) === "host";
    const { domains } = deps.settings();
    const isMarked = writesMarked(context);
    const freezesSkills = isMarked || given.background === true;
    const shown = isHost ? undefined : { ...(await deps.policyOf(agent, places, freezesSkills)), cwd, domains };
    const guarded =
      shown && !mayWriteRepositories(given, context) ? await guardRepositories(shown, deps.maxDirectories) : undefined;
    const policy = guarded ?? shown;
    const unsearched = guarded?.unsearched ?? [];
    const forgotten = given.background ? await roomFor(deps, agent) : [];
    const brings = bringsOthersText(deps, places, isHost, domains);
    if (brings || isMarked) {
      const roots = policy?.writable ?? [places.workingDir, ...(places.writeDirs ?? [])];
      await deps.marks.suspect(Processes.idOf(runId, callId), roots, deps.processes.clock.now(), policy?.frozen);
    }
    const started = await deps.processes.start({
      ...{ agentId, runId, callId, cwd, policy, signal },
      keptFor: { by: authorOf(context, "exec"), why: textOf(given.command).slice(0, MAX_WHY) },
      command: textOf(given.command),
      argv: argvOf(given.command),
      env: {
        ...(await environmentFor(deps, policy?.writable ?? [])),
        ...(onlyReadsWithGit(given.command)
          ? gitEnvironment(await findRepositories(directoriesOf(places), deps.maxDirectories))
          : {}),
        ...secrets,
      },
      background: given.background ?? false,
    });
    deps.started?.();
    const untrusted = brings ? { from: "tool:exec" } : undefined;
    if (given.background) {
      const text = `Started process ${started.info.id}. Use process to read its output, to wait for it or to stop it.`;
      return { content: [{ type: "text", text }], processes: { started: started.record, forgotten }, untrusted };
    }
    return { ...(await awaited(deps, started, given, context, { isHost, unsearched })), untrusted };
  },
});

const textOf = (command: ExecInput["command"]): string => (typeof command === "string" ? command : command.join(" "));

const SHELL = existsSync("/bin/bash") ? ["/bin/bash", "--noprofile", "--norc", "-c"] : ["/bin/sh", "-c"];

function argvOf(command: ExecInput["command"]): readonly string[] {
  const argv = typeof command === "string" ? [...SHELL, command] : command;
  if (argv.some((text) => text.includes("\0")))
    throw new InvalidInputError("A command cannot contain a zero character.");
  return argv;
}

/** Without directories of `PATH` that commands can write: a program there may have been planted under the name of one that only reads. */
async function environmentFor({ disk, environment }: ExecDeps, writable: readonly string[]) {
  const { PATH = "", ...others } = environment();
  const real = (path: string): Promise<string> => disk.realpath(path).catch(() => resolve(path));
  const roots = await Promise.all(writable.map(real));
  const kept: string[] = [];
  for (const directory of PATH.split(delimiter)) {
    // An empty or relative one is below the directory of the command.
    const found = isAbsolute(directory) ? await real(directory) : undefined;
    if (found !== undefined && !roots.some((root) => isInside(root, found))) kept.push(directory);
  }
  return { ...others, PATH: kept.join(delimiter) };
}

/** The real path of the directory. A command's directory is one that its agent may read. */
async function directoryOf({ disk }: ExecDeps, places: Places, cwd = "."): Promise<string> {
  const { existing, missing } = await allowedPath(disk, places, cwd, "read");
  if (missing.length > 0) throw new InvalidInputError(`There is no directory ${cwd}.`);
  if (!(await disk.lstat(existing)).isDirectory()) throw new InvalidInputError(`${cwd} is not a directory.`);
  return resolve(existing);
}

function secretsOf(deps: ExecDeps, names: readonly string[]): Readonly<Record<string, string>> {
  const known = deps.settings().secrets;
  const other = names.find((name) => !known.includes(name));
  if (other !== undefined) {
    throw new DeniedError(`There is no secret ${other} for commands.`, {
      hint: known.length === 0 ? "The owner lists them in sandbox.secrets." : `There are: ${known.join(", ")}.`,
    });
  }
  return Object.fromEntries(names.map((name) => [name, deps.secret(name)]));
}

/** Whether the output can contain text that the run's person did not write (M32): from the network, or from a marked file. */
const bringsOthersText = ({ marks }: ExecDeps, places: Places, isHost: boolean, domains: readonly string[]): boolean =>
  isHost || domains.length > 0 || directoriesOf(places).some((path) => marks.knows(path));

/** Room for one more background process: the oldest ended ones are no longer listed. Throws if all of them run. */
async function roomFor({ processes }: ExecDeps, { id, state }: AgentRecord): Promise<readonly string[]> {
  const listed = state.processes ?? [];
  const forgotten: string[] = [];
  for (const one of listed) {
    if (listed.length - forgotten.length < MAX_PROCESSES) break;
    const known = await processes.find(id, one.id);
    if (known?.state.is === "running") continue;
    if (known) await processes.forget(known);
    forgotten.push(one.id);
  }
  if (listed.length - forgotten.length < MAX_PROCESSES) return forgotten;
  throw new TooLargeError(`${MAX_PROCESSES} processes run already.`, { hint: "Stop one of them with process." });
}

/** Waits for the end of a command and tells its output on the way. */
async function awaited(
  { processes, settings, secretValues, marks, guard }: ExecDeps,
  started: KnownProcess,
  { timeoutSeconds }: ExecInput,
  context: ToolContext,
  { isHost, unsearched }: { readonly isHost: boolean; readonly unsearched: readonly string[] },
): Promise<ToolOutput> {
  const { timeoutSeconds: usual = DEFAULT_SECONDS, maxTimeoutSeconds = MAX_SECONDS } = settings();
  const seconds = Math.min(timeoutSeconds ?? usual, maxTimeoutSeconds);
  const { clock } = processes;
  const from = clock.monotonic();
  const state = await processes.wait(
    started,
    seconds * 1000,
    context.signal,
    follower(processes, started, context, secretValues()),
  );
  const took = ((clock.monotonic() - from) / 1000).toFixed(1);
  if (state.is === "running") await processes.end(started);
  const settled = await settleFiles({ marks, guard, processes }, started);
  const { text, bytes, isWhole } = await shownOutput(started.files, secretValues());
  const notes = [endNote(state, took, context.signal.aborted, seconds)];
  if (settled.aside.length > 0) notes.push(asideNote(settled.aside));
  if (settled.changed.length > 0) notes.push(`kept as changes that people review: ${named(settled.changed)}`);
  if (unsearched.length > 0)
    notes.push(`read-only, because too many directories are before them: ${named(unsearched)}`);
  if (settled.unsearched.length > 0) {
    const where = named(settled.unsearched);
    notes.push(`nobody looked for repositories in ${where}: do not run git there before a person has looked`);
  }
  if (isWhole) await (isHost || state.is !== "ended" ? processes.forget(started) : processes.remove(started));
  else notes.push(`${bytes} bytes of output; read more with process, action read, id ${started.info.id}`);
  const shown = text === "" || text.endsWith("\n") ? text : `${text}\n`;
  return { content: [{ type: "text", text: `${shown}[${notes.join("; ")}]` }], isError: state.is !== "ended" };
}

const MAX_NAMED = 5;
const named = (paths: readonly string[]): string =>
  [...paths.slice(0, MAX_NAMED), ...(paths.length > MAX_NAMED ? [`${paths.length - MAX_NAMED} more`] : [])].join(", ");

function endNote(state: ProcessState, took: string, isAborted: boolean, seconds: number): string {
  if (state.is === "ended") return `exit code ${state.code}, ${took} s`;
  if (state.is === "lost") return "it was killed from outside, its exit code is not known";
  return isAborted ? "stopped with the run" : `stopped: it took more than ${seconds} s`;
}

/** The use of a command is counted at every so many looks at it. */
const LIMITS_EVERY = 3;
/** Bytes of one report of progress. */
const MAX_PROGRESS = 4_000;

/** Sends what was added to the output since the last call. */
function follower(processes: Processes, started: KnownProcess, { progress }: ToolContext, secrets: SecretValues) {
  let seen = 0;
  let polls = 0;
  return async (): Promise<void> => {
    if (++polls % LIMITS_EVERY === 0) await processes.enforce(started);
    const size = await sizeOf(started.files.output);
    if (size <= seen) return;
    const begin = Math.max(seen, size - MAX_PROGRESS);
    seen = size;
    progress(await shownPart(started.files.output, { begin, end: size }, secrets));
  };
}
