/** A store whose commits can fail or end the process, at the site and count a test chooses. */
import { openMemoryStore } from "../../adapters/store/sqlite/open-store.ts";
import { CommitUnknownError, StoreFullError } from "../../core/errors.ts";
import type { CommitResult } from "../../core/store/change.ts";
import type { CommitSite, EngineChange } from "../../core/store/commit-sites.ts";
import type { Store } from "../../core/store/store.ts";
import { type Activity, type TestProcess, whileAlive } from "./process.ts";

/** The outcome of a commit: it succeeds, it throws before or after it is applied, or the process dies around it. */
export type CommitOutcome = "go" | "full" | "unknown-lost" | "unknown-applied" | "throw" | "die-before" | "die-after";

/** Called before every commit. `nth` counts the commits of this site in this process from 1. */
export type OnCommit = (change: EngineChange, nth: number) => CommitOutcome;

/** A moment in a test: right before or right after the next commit of a site. */
export interface CommitPoint {
  readonly site: CommitSite;
  readonly moment: "before" | "after";
}

/** Dies at the nth commit of a site. */
export const dieAt =
  (site: CommitSite, moment: "before" | "after" = "after", nth = 1): OnCommit =>
  (change, count) =>
    change.site === site && count === nth ? `die-${moment}` : "go";

export interface FaultyStoreDeps {
  readonly activity: Activity;
  /** Every change that was applied. */
  readonly commits: EngineChange[];
  readonly onCommit: OnCommit;
  /** Called at each point. The commit waits for the returned promise. */
  readonly atPoint?: (point: CommitPoint) => Promise<void> | undefined;
}

/** An empty store in memory, which outlives the engines that use it. */
export const memoryStore = (): Store => openMemoryStore();

/**
 * A store with faults, for `createRookery({ store })`. After `die-before` and `die-after` it answers nothing more, as a killed
 * process sees it: start another engine on the store under it.
 */
export const faultyStore = (store: Store, onCommit: OnCommit): Store =>
  storeOf(store, { alive: true, name: "faulty" }, { activity: { inFlight: 0, count: 0 }, commits: [], onCommit });

/** The store as one process sees it. */
export function storeOf(store: Store, process: TestProcess, deps: FaultyStoreDeps): Store {
  // Each method is looked up at each call, so that a test can replace it.
  const methods = store as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>;
  const reads: Record<string, unknown> = {};
  for (const name of Object.keys(store)) {
    reads[name] = (...args: unknown[]) =>
      whileAlive(process, () => methods[name]?.(...args) ?? Promise.resolve(undefined));
  }
  const nthOfSite = new Map<string, number>();
  return {
    ...(reads as unknown as Store),
    eraser: store.eraser,
    onHint: store.onHint,
    close: store.close,
    commit: (change) =>
      whileAlive(process, async () => {
        const made = change as EngineChange;
        const nth = (nthOfSite.get(made.site) ?? 0) + 1;
        nthOfSite.set(made.site, nth);
        await deps.atPoint?.({ site: made.site, moment: "before" });
        const result = await commitAs(deps.onCommit(made, nth), made, store, process, deps);
        await deps.atPoint?.({ site: made.site, moment: "after" });
        return result;
      }),
  };
}

async function commitAs(
  outcome: CommitOutcome,
  change: EngineChange,
  store: Store,
  process: TestProcess,
  { activity, commits }: FaultyStoreDeps,
): Promise<CommitResult> {
  activity.inFlight += 1;
  try {
    if (outcome === "die-before") {
      process.alive = false;
      return { ok: true, results: [] };
    }
    if (outcome === "full") throw new StoreFullError("no room");
    if (outcome === "throw") throw new TypeError("the store is confused");
    if (outcome === "unknown-lost") throw new CommitUnknownError("the outcome is unknown");
    const result = await store.commit(change);
    activity.count += 1;
    commits.push(change);
    if (outcome === "die-after") process.alive = false;
    if (outcome === "unknown-applied") throw new CommitUnknownError("the outcome is unknown");
    return result;
  } finally {
    activity.inFlight -= 1;
  }
}
