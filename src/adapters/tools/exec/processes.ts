/**
 * The commands of this machine: starts them under the wrapper, follows their output, and finds them again after a crash (M33).
 * Everything about a process is in its files, so a second instance on the same directory sees the same.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { appendFile, type FileHandle, mkdir, open } from "node:fs/promises";
import { dirname } from "node:path";
import type { BackgroundProcess } from "../../../core/agent/background-process.ts";
import { ConflictError, InvalidInputError } from "../../../core/errors.ts";
import type { AgentId, RunId } from "../../../core/ids.ts";
import { type Clock, sleep } from "../../../core/ports/clock.ts";
import type { Sandbox, SandboxedCommand, SandboxPolicy } from "../../sandbox/sandbox.ts";
import { makeDirectory } from "../../system/make-directory.ts";
import { type KeptFor, noGuard, type PromptGuard } from "../files/prompt-guard.ts";
import { type CommandLimits, overLimit } from "./command-limits.ts";
import { DiskWatches } from "./disk-watch.ts";
import { endProcess } from "./end-process.ts";
import {
  agentsOf,
  filesOf,
  idsOf,
  type ProcessFiles,
  type ProcessInfo,
  readCode,
  readDisk,
  readInfo,
  removeFiles,
  writeCode,
  writeDisk,
  writeInfo,
} from "./process-files.ts";
import { PROCESS_VARIABLE, startTimeOf, thisMachine } from "./process-identity.ts";
import { WRAPPER } from "./process-wrapper.ts";

interface ProcessDeps {
  /** Below it each agent has a directory, and in it each process. */
  readonly directory: string;
  readonly clock: Clock;
  /** Throws `DeniedError` if this machine has none. */
  sandbox(): Promise<Sandbox>;
  /** Knows which files a command must not change. Absent: none. */
  readonly guard?: PromptGuard;
  /** Of each command. Absent: the defaults. */
  limits?(): CommandLimits;
}

interface ProcessSpec {
  readonly agentId: AgentId;
  readonly runId: RunId;
  readonly callId: string;
  /** As people read it. */
  readonly command: string;
  readonly argv: readonly string[];
  readonly cwd: string;
  /** The whole environment. */
  readonly env: Readonly<Record<string, string>>;
  /** Absent: it runs on the host, without a sandbox. */
  readonly policy?: SandboxPolicy;
  /** The author of its changes in repositories. */
  readonly keptFor?: KeptFor;
  readonly background: boolean;
  readonly signal: AbortSignal;
}

export type ProcessState =
  | { readonly is: "running" }
  | { readonly is: "ended"; readonly code: number }
  /** It is not there any more and has left no exit code: the machine stopped, or the wrapper was killed. */
  | { readonly is: "lost" };

export interface KnownProcess {
  readonly info: ProcessInfo;
  readonly files: ProcessFiles;
  readonly state: ProcessState;
}

/** A file that a command writes gets at most this many blocks of 512 bytes: 1 GiB. */
const MAX_BLOCKS = 2_097_152;
const POLL_MS = 100;
const DEFAULT_LIMITS: CommandLimits = { memoryMb: 4_096, processes: 512, diskMb: 10_240 };
const INPUT_TRIES = 20;

export class Processes {
  readonly #deps: ProcessDeps;
  /** Wrappers that this instance has started. */
  readonly #children = new Map<string, ChildProcess>();
  readonly #starting = new Set<string>();
  readonly #disks = new DiskWatches(() => this.#deps.clock.monotonic());
  #machine: Promise<string> | undefined;

  constructor(deps: ProcessDeps) {
    this.#deps = deps;
  }

  get clock(): Clock {
    return this.#deps.clock;
  }

  limits(): CommandLimits {
    return this.#deps.limits?.() ?? DEFAULT_LIMITS;
  }

  /** Ends a running process that uses more than it may, and says so at the end of its output. Returns whether it did. */
  async enforce(known: KnownProcess): Promise<boolean> {
    const { pid, machine } = known.info;
    if (pid === undefined || machine !== (await this.machine)) return false;
    const why = (await overLimit(pid, this.limits())) ?? (await this.#overDisk(known));
    if (why === undefined) return false;
    await this.end(known);
    await appendFile(known.files.output, `\n[ended: ${why}]\n`).catch(() => {});
    return true;
  }

  async #overDisk({ info: { id }, files }: KnownProcess): Promise<string | undefined> {
    const { diskMb } = this.limits();
    if (!this.#disks.has(id)) {
      const start = await readDisk(files);
      if (start) await this.#disks.begin(id, start.roots, start.before);
    }
    const isOver = (await this.#disks.added(id)) > diskMb * 1024 * 1024;
    return isOver ? `it added more than ${diskMb} MB to the disk` : undefined;
  }

  get #guard(): PromptGuard {
    return this.#deps.guard ?? noGuard;
  }

  get machine(): Promise<string> {
    this.#machine ??= thisMachine();
    return this.#machine;
  }

  /** The same for every attempt of a call. */
  static idOf(runId: string, callId: string): string {
    return createHash("sha256")
      .update(JSON.stringify([runId, callId]))
      .digest("hex")
      .slice(0, 16);
  }

  /** Starts a command. Throws if it cannot be started; then nothing is left behind. */
  async start(spec: ProcessSpec): Promise<KnownProcess & { readonly record: BackgroundProcess }> {
    const { agentId, runId, callId } = spec;
    const id = Processes.idOf(runId, callId);
    const files = filesOf(this.#deps.directory, agentId, id);
    if (!files) throw new InvalidInputError(`The agent ${agentId} cannot have processes.`);
    makeDirectory(dirname(files.directory));
    // A call starts one process, ever (L4).
    await mkdir(files.directory, { mode: 0o700 }).catch((cause) => {
      throw new ConflictError(`The process ${id} was started before.`, { cause, hint: "Use process to look at it." });
    });
    this.#starting.add(id);
    try {
      return await this.#started(spec, id, files);
    } finally {
      this.#starting.delete(id);
    }
  }

  async #started(
    spec: ProcessSpec,
    id: string,
    files: ProcessFiles,
  ): Promise<KnownProcess & { readonly record: BackgroundProcess }> {
    const { agentId, runId, callId, command, cwd, background, policy } = spec;
    const startedAt = this.#deps.clock.now();
    const machine = await this.machine;
    const info: ProcessInfo = {
      ...{ id, agentId, runId, callId, command, cwd, background, startedAt, machine },
    };
    let wrapped: SandboxedCommand | undefined;
    try {
      // Before the spawn: what is found after a crash belongs to this agent.
      await writeInfo(files, info);
      if (policy) {
        const { frozen, writable, guardsRepositories } = policy;
        await this.#guard.begin(id, frozen, writable, guardsRepositories ? "guarded" : spec.keptFor);
      }
      wrapped = await this.#wrapped(spec);
      if (policy) this.#watchDisk(id, policy.writable, files);
      const pid = await this.#spawn(spec, id, files, wrapped);
      const startTime = (await startTimeOf(pid)) ?? "ended";
      const record = { id, runId, command, cwd, startedAt, pid, startTime, machine };
      await writeInfo(files, { ...info, pid, startTime });
      return { info: { ...info, pid, startTime }, files, state: { is: "running" }, record };
    } catch (error) {
      this.#disks.end(id);
      wrapped?.release();
      await this.#guard.end(id);
      await removeFiles(files);
      throw error;
    }
  }

  /** Counts what is there before; the next process that finds the command compares with it. */
  #watchDisk(id: string, writable: readonly string[], files: ProcessFiles): void {
    void this.#disks.begin(id, writable).then((start) => writeDisk(files, start).catch(() => {}));
  }

  async #wrapped({ policy, argv, env, signal }: ProcessSpec): Promise<SandboxedCommand> {
    if (!policy) return { argv, release: () => {} };
    const sandbox = await this.#deps.sandbox();
    return sandbox.wrap(argv, policy, [...Object.keys(env), PROCESS_VARIABLE], signal);
  }

  #spawn(spec: ProcessSpec, id: string, files: ProcessFiles, wrapped: SandboxedCommand): Promise<number> {
    const { cwd, env, background } = spec;
    const { memoryMb } = this.limits();
    const own = [files.directory, String(MAX_BLOCKS), String(memoryMb * 1024), background ? "input" : "none"];
    return new Promise((resolve, reject) => {
      const child = spawn("/bin/sh", ["-c", WRAPPER, "rookery-process", ...own, ...wrapped.argv], {
        ...{ cwd, detached: true, stdio: "ignore" },
        env: { ...env, [PROCESS_VARIABLE]: id },
      });
      child.unref();
      this.#children.set(id, child);
      const end = (): void => {
        this.#children.delete(id);
        this.#disks.end(id);
        wrapped.release();
      };
      child.once("error", (error) => {
        end();
        reject(error);
      });
      child.once("exit", end);
      child.once("spawn", () => resolve(child.pid ?? 0));
    });
  }

  /** Whether this instance starts it or has started it, and it has not ended. */
  isOurs(id: string): boolean {
    return this.#starting.has(id) || this.#children.has(id);
  }

  /** A process of this agent; undefined if it has none with this id here. */
  async find(agentId: AgentId, id: string): Promise<KnownProcess | undefined> {
    const files = filesOf(this.#deps.directory, agentId, id);
    const info = files && (await readInfo(files));
    return files && info ? { info, files, state: await this.#stateOf(info, files) } : undefined;
  }

  /** Those with files on this machine, the oldest first. */
  async ofAgent(agentId: AgentId): Promise<readonly KnownProcess[]> {
    const ids = await idsOf(this.#deps.directory, agentId);
    const found = await Promise.all(ids.map((id) => this.find(agentId, id)));
    return found.filter((one) => one !== undefined).sort((a, b) => a.info.startedAt - b.info.startedAt);
  }

  /** The agents with processes on this machine. */
  agents(): Promise<readonly AgentId[]> {
    return agentsOf(this.#deps.directory) as Promise<readonly AgentId[]>;
  }

  async #stateOf(info: ProcessInfo, files: ProcessFiles): Promise<ProcessState> {
    if (await this.#isAlive(info)) return { is: "running" };
    if (!this.isOurs(info.id)) this.#disks.end(info.id);
    // Read after the check: the wrapper writes the code before it ends.
    const code = await readCode(files);
    return code === undefined ? { is: "lost" } : { is: "ended", code };
  }

  async #isAlive({ pid, startTime, machine }: ProcessInfo): Promise<boolean> {
    if (pid === undefined || machine !== (await this.machine)) return false;
    return (await startTimeOf(pid)) === startTime;
  }

  /** Waits until the process has ended, the time is over, or the signal aborts; returns how it is then. */
  async wait(known: KnownProcess, ms: number, signal: AbortSignal, onPoll = async () => {}): Promise<ProcessState> {
    const { clock } = this.#deps;
    const until = clock.monotonic() + ms;
    for (;;) {
      const state = await this.#stateOf(known.info, known.files);
      await onPoll();
      const left = until - clock.monotonic();
      if (state.is !== "running" || signal.aborted || left <= 0) return state;
      await this.#exitOr(known.info.id, Math.min(left, POLL_MS), signal);
    }
  }

  /** Ends early when a process that was started here exits. */
  async #exitOr(id: string, ms: number, signal: AbortSignal): Promise<void> {
    const child = this.#children.get(id);
    const slept = new AbortController();
    const any = AbortSignal.any([signal, slept.signal]);
    const onExit = (): void => slept.abort();
    child?.once("exit", onExit);
    await sleep(this.#deps.clock, ms, any);
    child?.removeListener("exit", onExit);
  }

  /** Ends the process with its group. Its exit code is then known. */
  async end({ info, files }: KnownProcess): Promise<void> {
    const { id, pid, startTime } = info;
    if (pid !== undefined && startTime !== undefined && info.machine === (await this.machine)) {
      await endProcess(this.#deps.clock, { id, pid, startTime });
    } else await endProcess(this.#deps.clock, { id, pid: NO_PROCESS, startTime: "none" });
    await writeCode(files, KILLED);
  }

  /**
   * Makes sure that nothing of a process writes any more that does not run. One without an exit code may have left a part of itself, and
   * may have started right before a crash. Returns whether that is so.
   */
  async endRest({ info, files }: Pick<KnownProcess, "info" | "files">): Promise<boolean> {
    if ((await readCode(files)) !== undefined) return true;
    return endProcess(this.#deps.clock, { id: info.id, pid: NO_PROCESS, startTime: "none" });
  }

  /** Ends it if it is still there, and removes its files. */
  async forget(known: KnownProcess): Promise<void> {
    await this.end(known);
    await this.#guard.end(known.info.id);
    await removeFiles(known.files);
  }

  /** The wrapper makes it first of all, but it may not have come to that. */
  async #openInput({ input }: ProcessFiles): Promise<FileHandle> {
    for (let tries = 1; ; tries++) {
      try {
        return await open(input, constants.O_WRONLY | constants.O_NONBLOCK);
      } catch (cause) {
        if (tries === INPUT_TRIES) throw new InvalidInputError("The process takes no input.", { cause });
        await sleep(this.#deps.clock, POLL_MS);
      }
    }
  }

  /** Removes the files of a process that has ended in a sandbox: nothing of it can be left, so nothing is looked for. */
  remove({ files }: KnownProcess): Promise<void> {
    return removeFiles(files);
  }

  /** Writes to the input of a running process; `end`: there is no more input after that. */
  async write({ info, files }: KnownProcess, text: string, end: boolean): Promise<void> {
    if (text !== "") {
      const handle = await this.#openInput(files);
      try {
        const { bytesWritten } = await handle.write(text).catch((error) => {
          if ((error as NodeJS.ErrnoException).code === "EAGAIN") return { bytesWritten: 0 };
          throw error;
        });
        if (bytesWritten < Buffer.byteLength(text)) {
          throw new InvalidInputError(`Only ${bytesWritten} bytes of the input were taken.`, {
            hint: "Wait until the process has read them, then send the rest.",
          });
        }
      } finally {
        await handle.close();
      }
    }
    if (end && info.pid !== undefined && (await this.#isAlive(info))) process.kill(info.pid, "SIGUSR1");
  }
}

/** No process has this id. */
const NO_PROCESS = 2 ** 30;
/** The code of a shell for a command that was killed. */
const KILLED = 137;
