/**
 * Starts the thread that keeps the plain files up to date, so that they cost the engine's thread an occasional message and
 * nothing else. The thread ends when there were no commits for some time, and starts again with the next one. `flush` and `stop`
 * resolve when everything committed before the call is on the disk.
 */
import { InvariantError, type RookeryError, StoreFullError } from "../../../core/errors.ts";
import type { Log } from "../../../core/ports/log.ts";
import { backgroundTimeout } from "../../system/background-timers.ts";
import { SharedThread, startWorker, Thread, type ThreadFailure, type WorkerLike } from "../../system/thread.ts";
import type { HomeIdentity } from "../sqlite/home-files.ts";
import type { MirrorLag } from "./mirror.ts";
import type { MirrorNote, MirrorQuestion, ToWorker, WorkerData } from "./mirror-worker.ts";

/** The time between two wake-ups. The longer a step takes, the sooner the next begins, so that the lag stays below a second. */
const MIN_PAUSE_MS = 250;
const MAX_PAUSE_MS = 500;
const WARN_LAG_MS = 1_000;
const WARN_EVERY_MS = 60_000;
const SYNC_AFTER_MS = 5_000;
/** The thread allocates little at a time, so that a small young generation saves memory. */
const YOUNG_MB = 4;
const RESTART_AFTER_MS = 1_000;
/** How long after the last commit the thread ends: its memory is about a tenth of a process at rest. Later than its sync. */
const REST_AFTER_MS = 8_000;
/** How long the end of a process may block its thread to save the start of another. */
const COMPLETE_HERE_MS = 200;

interface MirrorOptions {
  readonly home: string;
  readonly databasePath: string;
  readonly log: Log;
  readonly syncAfterMs?: number;
  readonly restAfterMs?: number;
  /** The size in bytes above which a history at rest is archived. */
  readonly archiveAbove?: number;
  /** The files the store opened: nothing is written beside others. */
  readonly identity?: HomeIdentity;
  /** How much later than the engine the thread starts, so that it does not slow down the start. Default: at once. */
  readonly beginAfterMs?: number;
}

export interface MirrorHandle {
  /** Reports a commit. Cheap: call it after every one. */
  nudge(): void;
  /** Rejects with `StoreFullError` if the disk refuses the files; they are written later without another call. */
  flush(): Promise<void>;
  /** Flushes, then leaves the thread, even if the flush rejects. */
  stop(): Promise<void>;
  lag(): MirrorLag;
}

/** `launch` starts the thread; tests start another. */
export function startMirror(options: MirrorOptions, launch = launchWorker): MirrorHandle {
  const { beginAfterMs = 0 } = options;
  const thread = new MirrorThread(options, launch);
  thread.begin(beginAfterMs);
  return {
    nudge: () => thread.nudge(),
    flush: () => thread.flush(),
    stop: () => thread.stop(),
    lag: () => thread.lag(),
  };
}

/** Engines that follow each other in one process, as in tests, share what the thread has loaded. */
const shared = new SharedThread<WorkerData>(() =>
  startWorker(
    { module: "./run-mirror-worker", from: import.meta.url },
    { name: "plain-files", resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB } },
  ),
);
const launchWorker = (data: WorkerData): WorkerLike => shared.connect(data);

class MirrorThread {
  readonly #launchWorker: typeof launchWorker;
  readonly #data: WorkerData;
  readonly #log: Log;
  #thread: Thread<MirrorQuestion, MirrorNote> | undefined;
  /** False before the first start and after a rest: the files are complete but for the commits since. */
  #hasStarted = false;
  readonly #restAfterMs: number;
  #rest: NodeJS.Timeout | undefined;
  /** Resolves when the thread has ended that completes its files for a rest. */
  #resting: Promise<void> | undefined;
  /** Whether a commit came that the resting thread may not have seen. */
  #nudgedAtRest = false;
  #begin: NodeJS.Timeout | undefined;
  #nudge: NodeJS.Timeout | undefined;
  #restart: NodeJS.Timeout | undefined;
  #stopping = false;
  #lag: MirrorLag = { behind: 0, ms: 0 };
  #tookMs = 0;
  #nudgedAt = Number.NEGATIVE_INFINITY;
  /** The time of the first nudge that no step has handled yet. */
  #unansweredSince: number | undefined;
  #warnedAt = Number.NEGATIVE_INFINITY;
  #failing = false;

  constructor(
    {
      home,
      databasePath,
      log,
      syncAfterMs = SYNC_AFTER_MS,
      restAfterMs = REST_AFTER_MS,
      archiveAbove,
      identity,
    }: MirrorOptions,
    launch: typeof launchWorker,
  ) {
    this.#launchWorker = launch;
    this.#data = { home, databasePath, syncAfterMs, archiveAbove, identity };
    this.#log = log;
    this.#restAfterMs = restAfterMs;
  }

  begin(afterMs: number): void {
    if (afterMs === 0) this.#started();
    else this.#begin = backgroundTimeout(() => void this.#started(), afterMs);
  }

  nudge(): void {
    this.#unansweredSince ??= performance.now();
    this.#nudgedAtRest = true;
    if (this.#nudge || this.#stopping) return;
    const pause = Math.max(MIN_PAUSE_MS, Math.min(MAX_PAUSE_MS, 900 - 1.5 * this.#tookMs));
    const rest = this.#nudgedAt + pause - performance.now();
    if (rest <= 0) this.#wake();
    else this.#nudge = backgroundTimeout(() => this.#wake(), rest);
  }

  async flush(): Promise<void> {
    if (this.#resting) await this.#resting;
    await this.#started().ask({ type: "flush" });
  }

  async stop(): Promise<void> {
    if (this.#stopping) return;
    this.#stopping = true;
    clearTimeout(this.#nudge);
    clearTimeout(this.#rest);
    if (this.#resting) await this.#resting;
    if (!this.#hasStarted && (await this.#completeHere())) return;
    await this.#started().askLast({ type: "stop" });
  }

  /** A process that ends early needs no thread. Any failure is left to the thread, which reports it. */
  async #completeHere(): Promise<boolean> {
    clearTimeout(this.#begin);
    try {
      const { completeWithin } = await import("./mirror-worker.ts");
      return completeWithin(this.#data, COMPLETE_HERE_MS, (notice) => this.#log.warn(notice));
    } catch {
      return false;
    }
  }

  lag(): MirrorLag {
    const since = this.#unansweredSince === undefined ? 0 : Math.round(performance.now() - this.#unansweredSince);
    return { behind: this.#lag.behind, ms: Math.max(this.#lag.ms, since) };
  }

  /** Returns the thread, and starts it if needed. It begins to work at once. */
  #started(): Thread<MirrorQuestion, MirrorNote> {
    clearTimeout(this.#begin);
    this.#begin = undefined;
    clearTimeout(this.#restart);
    this.#hasStarted = true;
    this.#thread ??= new Thread(this.#launchWorker(this.#data), {
      onNotice: (note) => this.#receive(note),
      onError: (error) => this.#log.error("The plain files' thread failed.", { error: error.message }),
      onExit: () => this.#exited(),
      errorOf,
    });
    return this.#thread;
  }

  /** Completes the files and ends the thread. Two threads must not write the same files: another one starts after it has ended. */
  #goToRest(thread: Thread<MirrorQuestion, MirrorNote>): void {
    this.#nudgedAtRest = false;
    this.#resting = thread
      .askLast({ type: "stop" })
      .then(
        () => true,
        // The next thread finds the reason again and reports it.
        () => false,
      )
      .then((isComplete) => {
        this.#resting = undefined;
        this.#hasStarted = !isComplete;
        if (this.#stopping) return;
        if (!isComplete) this.#startAgain();
        else if (this.#nudgedAtRest) this.#started();
      });
  }

  #exited(): void {
    const isResting = this.#resting !== undefined;
    if (this.#stopping && !isResting) return;
    this.#thread = undefined;
    clearTimeout(this.#rest);
    if (!isResting) this.#startAgain();
  }

  #startAgain(): void {
    this.#restart = backgroundTimeout(() => void this.#started(), RESTART_AFTER_MS);
  }

  #receive(message: MirrorNote): void {
    switch (message.type) {
      case "lag":
        this.#receiveLag(message.lag, message.tookMs);
        return;
      case "notice":
        this.#log.warn(message.text);
        return;
      case "trouble":
        if (!this.#failing)
          this.#log.error("The plain files cannot be written; trying again.", { error: message.error });
        this.#failing = true;
    }
  }

  #receiveLag(lag: MirrorLag, tookMs: number): void {
    this.#lag = lag;
    this.#tookMs = tookMs;
    this.#unansweredSince = undefined;
    this.#restLater();
    if (this.#failing) this.#log.info("The plain files are being written again.");
    this.#failing = false;
    if (lag.ms > WARN_LAG_MS && performance.now() - this.#warnedAt > WARN_EVERY_MS) {
      this.#warnedAt = performance.now();
      this.#log.warn("The plain files are behind the database.", { behind: lag.behind, ms: lag.ms });
    }
  }

  /** Called with each sign of work. A disk that refuses the files keeps the thread, which tries again. */
  #restLater(): void {
    clearTimeout(this.#rest);
    if (this.#stopping) return;
    this.#rest = backgroundTimeout(() => {
      if (this.#thread && !this.#nudge && !this.#resting && !this.#failing) this.#goToRest(this.#thread);
    }, this.#restAfterMs);
  }

  #wake(): void {
    this.#nudge = undefined;
    this.#nudgedAt = performance.now();
    if (this.#resting) return;
    this.#restLater();
    if (this.#thread) this.#thread.post({ type: "nudge" } satisfies ToWorker);
    // A thread begins with the work.
    else if (!this.#hasStarted && !this.#begin) this.#started();
  }
}

const NO_ROOM = new Set(["ENOSPC", "EDQUOT", "EROFS", "EACCES", "EPERM"]);

function errorOf(failure?: ThreadFailure): RookeryError {
  if (!failure) return new InvariantError("The plain files' thread ended before it was done.");
  const { text, code } = failure;
  return code !== undefined && NO_ROOM.has(code)
    ? new StoreFullError(`The plain files could not be written: ${text}`, {
        hint: "Make room or restore the permissions of the home. The files are then written automatically.",
      })
    : new InvariantError(`The plain files could not be written: ${text}`);
}
