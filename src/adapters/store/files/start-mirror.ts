/**
 * Keeps the plain files in step from a thread of their own, so that they cost the engine's thread a message now and then
 * and nothing else. `flush` and `stop` resolve when everything committed before the call is on the disk.
 */
import { getCompileCacheDir } from "node:module";
import { Worker } from "node:worker_threads";
import { InvariantError, type RookeryError, StoreFullError } from "../../../core/errors.ts";
import type { Log } from "../../../core/ports/log.ts";
import type { MirrorLag } from "./mirror.ts";
import type { FromWorker, ToWorker, WorkerData } from "./mirror-worker.ts";

/** The time between two wake-ups: the longer a step takes, the sooner the next begins, so that a second is kept. */
const MIN_PAUSE_MS = 250;
const MAX_PAUSE_MS = 500;
const LAG_WORTH_A_WORD_MS = 1_000;
const WORD_EVERY_MS = 60_000;
const SYNC_AFTER_MS = 5_000;
/** What the thread makes and forgets: little, so that it keeps little. */
const YOUNG_MB = 4;
const RESTART_AFTER_MS = 1_000;

export interface MirrorOptions {
  readonly home: string;
  readonly databasePath: string;
  readonly log: Log;
  readonly syncAfterMs?: number;
  /** How long the thread may come later than the engine, which has better things to do while it starts. Default: not at all. */
  readonly beginAfterMs?: number;
}

export interface MirrorHandle {
  /** Something was committed. Cheap: call it after every commit. */
  nudge(): void;
  /** Rejects with `StoreFullError` where the disk does not take the files; they follow by themselves later. */
  flush(): Promise<void>;
  /** As `flush`, then ends the thread. Rejects likewise, and has ended all the same. */
  stop(): Promise<void>;
  lag(): MirrorLag;
}

interface Waiting {
  readonly resolve: () => void;
  readonly reject: (error: RookeryError) => void;
}

export function startMirror(options: MirrorOptions): MirrorHandle {
  const { home, databasePath, log, syncAfterMs = SYNC_AFTER_MS, beginAfterMs = 0 } = options;
  const data: WorkerData = { home, databasePath, syncAfterMs };
  const waiting = new Map<number, Waiting>();
  let ids = 0;
  let worker: Worker | undefined;
  let begin: NodeJS.Timeout | undefined;
  let stopping = false;
  let lag: MirrorLag = { behind: 0, ms: 0 };
  let tookMs = 0;
  let nudgedAt = Number.NEGATIVE_INFINITY;
  let nudge: NodeJS.Timeout | undefined;
  let restart: NodeJS.Timeout | undefined;
  /** When the first nudge was given that no step has answered yet. */
  let unansweredSince: number | undefined;
  let saidAt = Number.NEGATIVE_INFINITY;
  let troubled = false;

  function launch(): Worker {
    const file = import.meta.url.endsWith(".ts") ? "./mirror-worker.ts" : "./mirror-worker.js";
    // A thread does not inherit the cache of compiled code: without it, it would compile all of it again, and weigh as much.
    const cache = getCompileCacheDir();
    const begin = `${cache ? `require("node:module").enableCompileCache(${JSON.stringify(cache)});` : ""} import(${JSON.stringify(new URL(file, import.meta.url).href)});`;
    const started = new Worker(begin, {
      eval: true,
      workerData: data,
      name: "plain-files",
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB },
    });
    started.on("message", hear);
    started.on("error", (error) => log.error("The plain files' thread failed.", { error: error.message }));
    started.on("exit", ended);
    // The files follow the engine; they do not keep it alive.
    started.unref();
    return started;
  }

  function ended(): void {
    for (const waiter of waiting.values()) {
      waiter.reject(new InvariantError("The plain files' thread ended before it was done."));
    }
    waiting.clear();
    if (stopping) return;
    worker = undefined;
    restart = setTimeout(thread, RESTART_AFTER_MS);
    restart.unref();
  }

  function hear(message: FromWorker): void {
    switch (message.type) {
      case "lag":
        lag = message.lag;
        tookMs = message.tookMs;
        unansweredSince = undefined;
        if (troubled) log.info("The plain files are being written again.");
        troubled = false;
        if (lag.ms > LAG_WORTH_A_WORD_MS && performance.now() - saidAt > WORD_EVERY_MS) {
          saidAt = performance.now();
          log.warn("The plain files are behind the database.", { behind: lag.behind, ms: lag.ms });
        }
        return;
      case "notice":
        log.warn(message.text);
        return;
      case "trouble":
        if (!troubled) log.error("The plain files cannot be written; trying again.", { error: message.error });
        troubled = true;
        return;
      case "done": {
        const waiter = waiting.get(message.id);
        waiting.delete(message.id);
        if (message.error) waiter?.reject(errorOf(message.error));
        else waiter?.resolve();
      }
    }
  }

  /** The thread, begun where it has not been yet. It works as soon as it is there. */
  function thread(): Worker {
    clearTimeout(begin);
    clearTimeout(restart);
    worker ??= launch();
    return worker;
  }

  function wake(): void {
    nudge = undefined;
    nudgedAt = performance.now();
    worker?.postMessage({ type: "nudge" } satisfies ToWorker);
  }

  function ask(type: "flush" | "stop"): Promise<void> {
    ids += 1;
    const id = ids;
    const working = thread();
    working.ref();
    return new Promise<void>((resolve, reject) => {
      waiting.set(id, { resolve, reject });
      working.postMessage({ type, id } satisfies ToWorker);
    }).finally(() => {
      if (waiting.size === 0 && !stopping) working.unref();
    });
  }

  if (beginAfterMs === 0) thread();
  else begin = setTimeout(thread, beginAfterMs).unref();

  return {
    nudge() {
      unansweredSince ??= performance.now();
      if (nudge || stopping) return;
      const pause = Math.max(MIN_PAUSE_MS, Math.min(MAX_PAUSE_MS, 900 - 1.5 * tookMs));
      const rest = nudgedAt + pause - performance.now();
      if (rest <= 0) return wake();
      nudge = setTimeout(wake, rest);
      nudge.unref();
    },
    flush: () => ask("flush"),
    async stop() {
      if (stopping) return;
      stopping = true;
      clearTimeout(nudge);
      clearTimeout(restart);
      const working = thread();
      const exited = new Promise<void>((resolve) => working.once("exit", () => resolve()));
      await ask("stop").finally(() => exited);
    },
    lag() {
      const since = unansweredSince === undefined ? 0 : Math.round(performance.now() - unansweredSince);
      return { behind: lag.behind, ms: Math.max(lag.ms, since) };
    },
  };
}

const NO_ROOM = new Set(["ENOSPC", "EDQUOT", "EROFS", "EACCES", "EPERM"]);

function errorOf({ text, code }: { readonly text: string; readonly code?: string }): RookeryError {
  return code !== undefined && NO_ROOM.has(code)
    ? new StoreFullError(`The plain files could not be written: ${text}`, {
        hint: "Make room or restore the rights to the home; the files follow by themselves.",
      })
    : new InvariantError(`The plain files could not be written: ${text}`);
}
