/**
 * Plain files of a shared database, written by a node that was told to (`--mirror`): readable and greppable like those of a
 * home, some seconds behind. They are for people and for moving out; a shared database is backed up by its own means and
 * never rebuilt from them.
 */
import { errorText } from "../../../core/errors.ts";
import type { Log } from "../../../core/ports/log.ts";
import { allTold } from "../postgres/budgets.ts";
import { endedBefore, touchedBetween } from "../postgres/changes.ts";
import type { PostgresStore } from "../postgres/open-store.ts";
import { budgetsFile } from "./budgets-file.ts";
import { diskFiles } from "./disk-files.ts";
import {
  AGENTS_DIR,
  agentPaths,
  BUDGETS_FILE,
  dedupeKeysIn,
  JOBS_FILE,
  jsonText,
  SUBAGENTS_FILE,
  SWARMS_FILE,
} from "./file-format.ts";
import { type KnownAgent, mirrorAgent } from "./mirror-agent.ts";
import { noticeText } from "./mirror-notice.ts";
import { readSharedAgent } from "./shared-agent.ts";

export interface SharedMirror {
  /** Brings the files in step with everything committed before the call. */
  flush(): Promise<void>;
  stop(): Promise<void>;
}

export interface SharedMirrorOptions {
  readonly home: string;
  readonly store: PostgresStore;
  readonly log: Log;
  readonly everyMs?: number;
}

const EVERY_MS = 1_000;
const KNOWN_AGENTS = 2_000;
const MAX_COUNT = 1_000_000;

export async function followShared(options: SharedMirrorOptions): Promise<SharedMirror> {
  const { store, log, everyMs = EVERY_MS } = options;
  const { connections } = store;
  const files = diskFiles(options.home);
  const known = new Map<string, KnownAgent>();
  let mark: string | undefined;
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  let working: Promise<void> = Promise.resolve();
  // Only who follows needs it, so only who follows pays for it.
  await connections.use("read", (client) => client.query("CREATE INDEX IF NOT EXISTS changes_xid ON changes (xid)"));

  async function step(): Promise<void> {
    const before = await endedBefore(connections);
    if (mark === undefined) await all();
    else {
      for (const word of await touchedBetween(connections, mark, before)) await follow(word);
    }
    mark = before;
  }

  /** At the start nobody knows what the files lack: everybody is looked at once. */
  async function all(): Promise<void> {
    for (let page = await store.agents({ limit: 500 }); page.length > 0; ) {
      for (const { id } of page) await mirrorOne(id);
      page = await store.agents({ limit: 500, after: page.at(-1)?.id });
    }
    for (const registry of ["jobs", "subagents", "budgets", "swarms"]) await follow(registry);
  }

  async function follow(word: string): Promise<void> {
    if (word === "subagents") {
      const runs = await store.subagentRuns();
      const byId = Object.fromEntries(runs.map((run) => [run.runId, run]));
      return replace(SUBAGENTS_FILE, "subagents", { version: 2, runs: byId });
    }
    if (word === "budgets") return mirrorBudgets();
    if (word === "swarms") {
      const swarms = await store.swarms({ limit: MAX_COUNT });
      // Where there never was one, there is no file either.
      if (swarms.length === 0 && files.size(SWARMS_FILE) === undefined) return;
      return replace(SWARMS_FILE, "swarms", { version: 1, swarms });
    }
    if (word === "jobs" || word.startsWith("job:"))
      return replace(JOBS_FILE, "cron", { version: 1, jobs: await store.jobs() });
    if (/^[a-z0-9]{24,32}$/.test(word)) await mirrorOne(word);
  }

  async function mirrorBudgets(): Promise<void> {
    const budgets = await store.budgets({ limit: MAX_COUNT });
    if (budgets.length === 0 && files.size(BUDGETS_FILE) === undefined) return;
    const reservations = await store.reservations({ limit: MAX_COUNT });
    replace(BUDGETS_FILE, ".", budgetsFile(budgets, reservations, await allTold(connections)));
  }

  function replace(path: string, dir: string, value: unknown): void {
    const text = jsonText(value);
    if (files.read(path)?.toString() === text) return;
    files.makeDir(dir);
    files.replace(path, text);
  }

  async function mirrorOne(id: string): Promise<void> {
    const before = known.get(id);
    known.delete(id);
    const paths = agentPaths(id as Parameters<typeof agentPaths>[0]);
    const trusted = before && files.size(paths.history) === before.history.size;
    const keys = before ? [] : dedupeKeysIn(files.read(paths.pending));
    const read = await readSharedAgent(connections, id, trusted ? before.history.nextPos : 0, keys);
    if (!read) return;
    files.makeDir(AGENTS_DIR);
    const report = (notice: Parameters<typeof noticeText>[0]): void => log.warn(noticeText(notice));
    const mirroring = { source: read.source, files, report, wrote: () => {}, last: 0, closely: false };
    const after = mirrorAgent(mirroring, read.no, trusted ? before : undefined);
    if (after) known.set(id, after);
    const [oldest] = known.keys();
    if (known.size > KNOWN_AGENTS && oldest !== undefined) known.delete(oldest);
  }

  /** One look after the other; one that failed is made up for by the next, because the mark stays. */
  const look = (): Promise<void> => {
    working = working.then(step).catch((error) => {
      if (!stopped) log.warn("the plain files could not follow; they will", { error: errorText(error) });
    });
    return working;
  };
  const again = (): void => {
    timer = setTimeout(() => void look().then(() => stopped || again()), everyMs);
    timer.unref();
  };
  void look().then(() => stopped || again());

  return {
    flush: look,
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await look();
    },
  };
}
