/**
 * The search index of a home, in a thread that starts with the first search or, in a process that stays, some time after the first
 * commit. So indexing never delays the engine's thread, and a process that only sends a message pays nothing.
 */
import { existsSync } from "node:fs";
import { Worker } from "node:worker_threads";
import { InvariantError, StoreClosedError } from "../../../core/errors.ts";
import type { Log } from "../../../core/ports/log.ts";
import type { SearchHit, SearchIndex, SearchState } from "../../../core/search/search-index.ts";
import { threadCode } from "../../system/thread-code.ts";
import type { FromSearch, ToSearch } from "./search-worker.ts";

export interface SearchOptions {
  readonly databasePath: string;
  readonly indexPath: string;
  readonly log: Pick<Log, "warn">;
  /** Whether commits start the thread. */
  readonly stays: boolean;
}

export interface FollowingIndex extends SearchIndex {
  /** Reports a commit. Cheap. */
  nudge(): void;
}

/** Several turns are indexed at once: a search catches up anyway. The thread itself starts later: short processes never need it. */
const NUDGE_AFTER_MS = 5_000;
const START_AFTER_MS = 30_000;
const YOUNG_MB = 4;

interface Waiting {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

export function startSearch({ databasePath, indexPath, log, stays }: SearchOptions): FollowingIndex {
  const waiting = new Map<number, Waiting>();
  let worker: Worker | undefined;
  let timer: NodeJS.Timeout | undefined;
  let ids = 0;
  let closed = false;
  let troubled = false;

  const receive = (message: FromSearch): void => {
    if (message.type === "trouble") {
      if (!troubled)
        log.warn("The search index cannot be written; it is tried again with the next commit.", {
          error: message.error,
        });
      troubled = true;
      return;
    }
    troubled = false;
    const waiter = waiting.get(message.id);
    waiting.delete(message.id);
    if (waiting.size === 0) worker?.unref();
    if (message.error === undefined) waiter?.resolve(message.value);
    else waiter?.reject(new InvariantError(`The search index failed: ${message.error}`));
  };
  const launch = (): Worker => {
    const started = new Worker(threadCode("./search-worker", import.meta.url), {
      eval: true,
      workerData: { databasePath, indexPath },
      name: "search",
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB },
    });
    started.on("message", receive);
    started.on("error", (error) => log.warn("The search index's thread failed.", { error: error.message }));
    started.on("exit", () => {
      if (worker === started) worker = undefined;
      for (const { reject } of waiting.values()) reject(new InvariantError("The search index's thread ended."));
      waiting.clear();
    });
    started.unref();
    return started;
  };
  const ask = <Value>(
    message:
      | { readonly type: "rebuild" | "state" | "stop" }
      | Omit<Extract<ToSearch, { type: "search" }>, "id">
      | Omit<Extract<ToSearch, { type: "forget" }>, "id">,
  ): Promise<Value> => {
    if (closed && message.type !== "stop") return Promise.reject(new StoreClosedError("The store is closed."));
    worker ??= launch();
    worker.ref();
    ids++;
    const id = ids;
    return new Promise<unknown>((resolve, reject) => {
      waiting.set(id, { resolve, reject });
      worker?.postMessage({ ...message, id } as ToSearch);
    }) as Promise<Value>;
  };
  return {
    nudge() {
      if (timer || closed || !(stays || worker)) return;
      timer = setTimeout(
        () => {
          timer = undefined;
          worker ??= launch();
          worker.postMessage({ type: "nudge" } satisfies ToSearch);
        },
        worker ? NUDGE_AFTER_MS : START_AFTER_MS,
      ).unref();
    },
    search: (request) => ask<readonly SearchHit[]>({ type: "search", request }),
    rebuild: () => ask<void>({ type: "rebuild" }),
    forget: async (traces) => {
      if (existsSync(indexPath)) await ask<void>({ type: "forget", traces });
    },
    state: () => ask<SearchState>({ type: "state" }),
    async close() {
      if (closed) return;
      closed = true;
      clearTimeout(timer);
      const running = worker;
      if (!running) return;
      const exited = new Promise<void>((resolve) => running.once("exit", () => resolve()));
      await ask({ type: "stop" }).catch(() => undefined);
      await exited;
    },
  };
}
