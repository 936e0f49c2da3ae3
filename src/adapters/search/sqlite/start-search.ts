/**
 * The search index of a home, in a thread that starts with a search or, in a process that stays, some time after a commit, and ends when
 * it has had nothing to do for a while. So indexing never delays the engine's thread, and a process that only sends a message pays nothing.
 */
import { existsSync } from "node:fs";
import { InvariantError, StoreClosedError } from "../../../core/errors.ts";
import type { Log } from "../../../core/ports/log.ts";
import type { SearchHit, SearchIndex, SearchState } from "../../../core/search/search-index.ts";
import { backgroundTimeout } from "../../system/background-timers.ts";
import { startWorker, Thread } from "../../system/thread.ts";
import type { HomeIndexOptions } from "./home-index.ts";
import type { SearchNotice, SearchNudge, SearchQuestion } from "./search-worker.ts";

interface SearchOptions {
  readonly databasePath: string;
  readonly indexPath: string;
  readonly log: Pick<Log, "warn">;
  /** Whether commits start the thread. */
  readonly stays: boolean;
}

interface FollowingIndex extends SearchIndex {
  /** Reports a commit. Cheap. */
  nudge(): void;
}

/** Several turns are indexed at once: a search catches up anyway. The thread itself starts later: short processes never need it. */
const NUDGE_AFTER_MS = 5_000;
const START_AFTER_MS = 30_000;
/** An open index keeps some tens of megabytes; to open it again takes about a tenth of a second. */
const REST_AFTER_MS = 6_000;
const YOUNG_MB = 4;

export function startSearch({ databasePath, indexPath, log, stays }: SearchOptions): FollowingIndex {
  let thread: Thread<SearchQuestion, SearchNotice> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let rest: NodeJS.Timeout | undefined;
  let ending: Promise<unknown> | undefined;
  let isIndexing = false;
  let asked = 0;
  let isFirst = true;
  let closed = false;
  let troubled = false;

  const launch = (): NonNullable<typeof thread> => {
    const worker = startWorker(
      { module: "./search-worker", from: import.meta.url },
      {
        workerData: { databasePath, indexPath, readsAhead: isFirst } satisfies HomeIndexOptions,
        name: "search",
        resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB },
      },
    );
    isFirst = false;
    const launched: NonNullable<typeof thread> = new Thread(worker, {
      onNotice(notice) {
        isIndexing = false;
        restLater();
        if (notice.type === "idle") return;
        const { error } = notice;
        if (!troubled)
          log.warn("The search index cannot be written; it is tried again with the next commit.", { error });
        troubled = true;
      },
      onError: (error) => log.warn("The search index's thread failed.", { error: error.message }),
      onExit() {
        if (thread !== launched) return;
        thread = undefined;
        isIndexing = false;
      },
      errorOf: (failure) =>
        new InvariantError(
          failure ? `The search index failed: ${failure.text}` : "The search index's thread ended before it was done.",
        ),
    });
    return launched;
  };
  const restLater = (): void => {
    clearTimeout(rest);
    rest = backgroundTimeout(() => {
      if (isIndexing || asked > 0 || closed) return;
      ending = stopThread();
      thread = undefined;
    }, REST_AFTER_MS);
  };
  const stopThread = async (): Promise<void> => {
    await thread?.askLast({ type: "stop" }).catch(() => undefined);
  };
  const ask = async (question: SearchQuestion): Promise<unknown> => {
    if (closed) throw new StoreClosedError("The store is closed.");
    thread ??= launch();
    asked += 1;
    try {
      const value = await thread.ask(question);
      troubled = false;
      return value;
    } finally {
      asked -= 1;
      restLater();
    }
  };
  return {
    nudge() {
      if (timer || closed || !(stays || thread)) return;
      timer = backgroundTimeout(
        () => {
          timer = undefined;
          thread ??= launch();
          isIndexing = true;
          thread.post({ type: "nudge" } satisfies SearchNudge);
        },
        thread ? NUDGE_AFTER_MS : START_AFTER_MS,
      );
    },
    search: (request) => ask({ type: "search", request }) as Promise<readonly SearchHit[]>,
    rebuild: () => ask({ type: "rebuild" }) as Promise<void>,
    forget: async (traces) => {
      if (existsSync(indexPath)) await ask({ type: "forget", traces });
    },
    state: () => ask({ type: "state" }) as Promise<SearchState>,
    async close() {
      if (closed) return;
      closed = true;
      clearTimeout(timer);
      clearTimeout(rest);
      await Promise.all([ending, stopThread()]);
    },
  };
}
