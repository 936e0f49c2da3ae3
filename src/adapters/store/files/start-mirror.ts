/**
 * Starts the thread that keeps the plain files up to date, so that they cost the engine's thread an occasional message and
 * nothing else. `flush` and `stop` resolve when everything committed before the call is on the disk.
 */
import { Worker } from "node:worker_threads";
import { InvariantError, type RookeryError, StoreFullError } from "../../../core/errors.ts";
import type { Log } from "../../../core/ports/log.ts";
import { threadCode } from "../../system/thread-code.ts";
import type { HomeIdentity } from "../sqlite/home-files.ts";
import type { MirrorLag } from "./mirror.ts";
import type { FromWorker, ToWorker, WorkerData } from "./mirror-worker.ts";

/** The time between two wake-ups. The longer a step takes, the sooner the next begins, so that the lag stays below a second. */
const MIN_PAUSE_MS = 250;
const MAX_PAUSE_MS = 500;
const WARN_LAG_MS = 1_000;
const WARN_EVERY_MS = 60_000;
const SYNC_AFTER_MS = 5_000;
/** The thread allocates little at a time, so that a small young generation saves memory. */
const YOUNG_MB = 4;
const RESTART_AFTER_MS = 1_000;

export interface MirrorOptions {
  readonly home: string;
  readonly databasePath: string;
  readonly log: Log;
  readonly syncAfterMs?: number;
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
  /** As `flush`, then ends the thread, also when it rejects. */
  stop(): Promise<void>;
  lag(): MirrorLag;
}

interface Waiting {
  readonly resolve: () => void;
  readonly reject: (error: RookeryError) => void;
}

/** What is used of a `Worker`. */
export type Thread = Pick<Worker, "on" | "once" | "postMessage" | "ref" | "unref">;

/** `launch` starts the thread; tests start another. */
export function startMirror(options: MirrorOptions, launch = launchThread): MirrorHandle {
  const { beginAfterMs = 0 } = options;
  const thread = new MirrorThread(options, launch);
  thread.begin(beginAfterMs);
  return {
    nudge: () => thread.nudge(),
    flush: () => thread.ask("flush"),
    stop: () => thread.stop(),
    lag: () => thread.lag(),
  };
}

function launchThread(workerData: WorkerData): Thread {
  return new Worker(threadCode("./run-mirror-worker", import.meta.url), {
    eval: true,
    workerData,
    name: "plain-files",
    resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB },
  });
}

class MirrorThread {
  readonly #launchThread: typeof launchThread;
  readonly #data: WorkerData;
  readonly #log: Log;
  readonly #waiting = new Map<number, Waiting>();
  #ids = 0;
  #worker: Thread | undefined;
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
    { home, databasePath, log, syncAfterMs = SYNC_AFTER_MS, identity }: MirrorOptions,
    launch: typeof launchThread,
  ) {
    this.#launchThread = launch;
    this.#data = { home, databasePath, syncAfterMs, identity };
    this.#log = log;
  }

  begin(afterMs: number): void {
    if (afterMs === 0) this.#started();
    else this.#begin = setTimeout(() => this.#started(), afterMs).unref();
  }

  nudge(): void {
    this.#unansweredSince ??= performance.now();
    if (this.#nudge || this.#stopping) return;
    const pause = Math.max(MIN_PAUSE_MS, Math.min(MAX_PAUSE_MS, 900 - 1.5 * this.#tookMs));
    const rest = this.#nudgedAt + pause - performance.now();
    if (rest <= 0) this.#wake();
    else this.#nudge = setTimeout(() => this.#wake(), rest).unref();
  }

  ask(type: "flush" | "stop"): Promise<void> {
    this.#ids += 1;
    const id = this.#ids;
    const worker = this.#started();
    worker.ref();
    return new Promise<void>((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      worker.postMessage({ type, id } satisfies ToWorker);
    }).finally(() => {
      if (this.#waiting.size === 0 && !this.#stopping) worker.unref();
    });
  }

  async stop(): Promise<void> {
    if (this.#stopping) return;
    this.#stopping = true;
    clearTimeout(this.#nudge);
    const worker = this.#started();
    const exited = new Promise<void>((resolve) => worker.once("exit", () => resolve()));
    await this.ask("stop").finally(() => exited);
  }

  lag(): MirrorLag {
    const since = this.#unansweredSince === undefined ? 0 : Math.round(performance.now() - this.#unansweredSince);
    return { behind: this.#lag.behind, ms: Math.max(this.#lag.ms, since) };
  }

  /** Returns the thread, and starts it if needed. It begins to work at once. */
  #started(): Thread {
    clearTimeout(this.#begin);
    clearTimeout(this.#restart);
    this.#worker ??= this.#launch();
    return this.#worker;
  }

  #launch(): Thread {
    const worker = this.#launchThread(this.#data);
    worker.on("message", (message: FromWorker) => this.#receive(message));
    worker.on("error", (error) => this.#log.error("The plain files' thread failed.", { error: error.message }));
    worker.on("exit", () => this.#exited());
    // The thread must not keep the process alive.
    worker.unref();
    return worker;
  }

  #exited(): void {
    for (const { reject } of this.#waiting.values()) {
      reject(new InvariantError("The plain files' thread ended before it was done."));
    }
    this.#waiting.clear();
    if (this.#stopping) return;
    this.#worker = undefined;
    this.#restart = setTimeout(() => this.#started(), RESTART_AFTER_MS);
    this.#restart.unref();
  }

  #receive(message: FromWorker): void {
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
        return;
      case "done": {
        const waiter = this.#waiting.get(message.id);
        this.#waiting.delete(message.id);
        if (message.error) waiter?.reject(errorOf(message.error));
        else waiter?.resolve();
      }
    }
  }

  #receiveLag(lag: MirrorLag, tookMs: number): void {
    this.#lag = lag;
    this.#tookMs = tookMs;
    this.#unansweredSince = undefined;
    if (this.#failing) this.#log.info("The plain files are being written again.");
    this.#failing = false;
    if (lag.ms > WARN_LAG_MS && performance.now() - this.#warnedAt > WARN_EVERY_MS) {
      this.#warnedAt = performance.now();
      this.#log.warn("The plain files are behind the database.", { behind: lag.behind, ms: lag.ms });
    }
  }

  #wake(): void {
    this.#nudge = undefined;
    this.#nudgedAt = performance.now();
    this.#worker?.postMessage({ type: "nudge" } satisfies ToWorker);
  }
}

const NO_ROOM = new Set(["ENOSPC", "EDQUOT", "EROFS", "EACCES", "EPERM"]);

function errorOf({ text, code }: { readonly text: string; readonly code?: string }): RookeryError {
  return code !== undefined && NO_ROOM.has(code)
    ? new StoreFullError(`The plain files could not be written: ${text}`, {
        hint: "Make room or restore the permissions of the home. The files are then written automatically.",
      })
    : new InvariantError(`The plain files could not be written: ${text}`);
}
