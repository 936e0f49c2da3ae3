/**
 * The plain files of a shared database, written by a node that runs with `--mirror`: for reading and searching, some
 * seconds behind, and for moving to another store. A shared database is backed up by its own means and never rebuilt from
 * them.
 */

import { errorText } from "../../../core/errors.ts";
import type { AgentId } from "../../../core/ids.ts";
import type { Log } from "../../../core/ports/log.ts";
import { CONVERSATIONS_FACT } from "../../../core/store/change.ts";
import { backgroundTimeout } from "../../system/background-timers.ts";
import { allTold } from "../postgres/budgets.ts";
import { endedBefore, touchedSince } from "../postgres/changes.ts";
import type { PostgresStore } from "../postgres/open-store.ts";
import { allHolds } from "../postgres/stored-files.ts";
import { budgetsFile } from "./budgets-file.ts";
import { diskFiles } from "./disk-files.ts";
import {
  AGENTS_DIR,
  agentPaths,
  BUDGETS_FILE,
  dedupeKeysIn,
  JOBS_FILE,
  jsonText,
  PEOPLE_FILE,
  STORED_FILES_FILE,
  SUBAGENTS_FILE,
  SWARMS_FILE,
} from "./file-format.ts";
import { ARCHIVE_ABOVE_BYTES } from "./history-archive.ts";
import { type KnownAgent, mirrorAgent } from "./mirror-agent.ts";
import type { MirrorFiles } from "./mirror-files.ts";
import { type MirrorNotice, noticeText } from "./mirror-notice.ts";
import { peopleFile } from "./people-file.ts";
import { readSharedAgent } from "./shared-agent.ts";
import { storedFilesFile } from "./stored-files-file.ts";

export interface SharedMirror {
  /** Brings the files up to date with everything committed before the call. */
  flush(): Promise<void>;
  stop(): Promise<void>;
}

interface SharedMirrorOptions {
  readonly home: string;
  readonly store: PostgresStore;
  readonly log: Log;
  readonly everyMs?: number;
  /** The size in bytes above which a history at rest is archived. */
  readonly archiveAbove?: number;
}

const EVERY_MS = 1_000;
const KNOWN_AGENTS = 2_000;
const MAX_COUNT = 1_000_000;

export async function followShared(options: SharedMirrorOptions): Promise<SharedMirror> {
  const { store, log, everyMs = EVERY_MS, archiveAbove = ARCHIVE_ABOVE_BYTES } = options;
  // Only a node that follows needs the index, so only such a node creates it.
  await store.connections.use("read", (client) =>
    client.query("CREATE INDEX IF NOT EXISTS changes_xid ON changes (xid)"),
  );
  const follower = new Follower(store, diskFiles(options.home), log, archiveAbove);
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  let working: Promise<void> = Promise.resolve();

  /** Runs one poll after the other. The next poll repeats the work of a failed one, because the mark stays. */
  const poll = (): Promise<void> => {
    working = working
      .then(() => follower.step())
      .catch((error) => {
        if (!stopped) log.warn("the plain files could not be written; trying again", { error: errorText(error) });
      });
    return working;
  };
  const schedule = (): void => {
    timer = backgroundTimeout(() => void poll().then(() => stopped || schedule()), everyMs);
  };
  void poll().then(() => stopped || schedule());

  return {
    flush: poll,
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await poll();
    },
  };
}

class Follower {
  readonly #store: PostgresStore;
  readonly #files: MirrorFiles;
  readonly #log: Log;
  readonly #archiveAbove: number;
  readonly #known = new Map<string, KnownAgent>();
  /** Changes of all transactions below this id are in the files: none of them is open any more. */
  #mark: string | undefined;
  /** How many changes from the mark on are in the files, by what they touched. */
  #written = new Map<string, number>();

  constructor(store: PostgresStore, files: MirrorFiles, log: Log, archiveAbove: number) {
    this.#archiveAbove = archiveAbove;
    this.#store = store;
    this.#files = files;
    this.#log = log;
  }

  /**
   * Writes everything that is committed. The mark waits for the oldest open transaction of the whole server, which may
   * belong to another program and stay open for long; committed changes behind the mark do not wait for it.
   */
  async step(): Promise<void> {
    const { connections } = this.#store;
    const before = await endedBefore(connections);
    if (this.#mark === undefined) await this.#mirrorAll();
    else {
      for (const { word, changes } of await touchedSince(connections, this.#mark)) {
        if (this.#written.get(word) === changes) continue;
        await this.#follow(word);
        this.#written.set(word, changes);
      }
    }
    if (this.#mark !== before) this.#written.clear();
    this.#mark = before;
  }

  /** At the start it is unknown what the files lack, so every agent is compared once. */
  async #mirrorAll(): Promise<void> {
    for (let page = await this.#store.agents({ limit: 500 }); page.length > 0; ) {
      for (const { id } of page) await this.#mirrorAgent(id);
      page = await this.#store.agents({ limit: 500, after: page.at(-1)?.id });
    }
    for (const registry of ["jobs", "subagents", "budgets", "swarms", "people", "files"]) await this.#follow(registry);
  }

  async #follow(word: string): Promise<void> {
    if (word === "subagents") return this.#mirrorSubagents();
    if (word === "budgets") return this.#mirrorBudgets();
    if (word === "swarms") return this.#mirrorSwarms();
    if (word === "people") return this.#mirrorPeople();
    if (word === "files") return this.#mirrorStoredFiles();
    if (word === "jobs" || word.startsWith("job:"))
      return this.#replace(JOBS_FILE, "cron", { version: 1, jobs: await this.#store.jobs() });
    if (/^[a-z0-9]{24,32}$/.test(word)) await this.#mirrorAgent(word as AgentId);
  }

  async #mirrorSubagents(): Promise<void> {
    const runs = await this.#store.subagentRuns();
    const byId = Object.fromEntries(runs.map((run) => [run.runId, run]));
    this.#replace(SUBAGENTS_FILE, "subagents", { version: 2, runs: byId });
  }

  async #mirrorBudgets(): Promise<void> {
    const budgets = await this.#store.budgets({ limit: MAX_COUNT });
    if (budgets.length === 0 && this.#files.size(BUDGETS_FILE) === undefined) return;
    const reservations = await this.#store.reservations({ limit: MAX_COUNT });
    this.#replace(BUDGETS_FILE, ".", budgetsFile(budgets, reservations, await allTold(this.#store.connections)));
  }

  /** A store that never had a swarm has no file of swarms. */
  async #mirrorSwarms(): Promise<void> {
    const swarms = await this.#store.swarms({ limit: MAX_COUNT });
    if (swarms.length === 0 && this.#files.size(SWARMS_FILE) === undefined) return;
    this.#replace(SWARMS_FILE, "swarms", { version: 1, swarms });
  }

  async #mirrorPeople(): Promise<void> {
    const revision = await this.#store.rightsRevision();
    if (revision === 0) return;
    const people = await this.#store.people({ limit: MAX_COUNT });
    this.#replace(PEOPLE_FILE, ".", peopleFile(revision, people, await this.#store.fact(CONVERSATIONS_FACT)));
  }

  async #mirrorStoredFiles(): Promise<void> {
    const files = await this.#store.files({ limit: MAX_COUNT });
    if (files.length === 0 && this.#files.size(STORED_FILES_FILE) === undefined) return;
    const holds = Map.groupBy(await allHolds(this.#store.connections), ({ file }) => file);
    const held = files.map((file) => ({ file, holders: (holds.get(file.id) ?? []).map(({ holder }) => holder) }));
    this.#replace(STORED_FILES_FILE, ".", storedFilesFile(held));
  }

  #replace(path: string, dir: string, value: unknown): void {
    const text = jsonText(value);
    if (this.#files.read(path)?.toString() === text) return;
    this.#files.makeDir(dir);
    this.#files.replace(path, text);
  }

  async #mirrorAgent(id: AgentId): Promise<void> {
    const files = this.#files;
    const before = this.#known.get(id);
    this.#known.delete(id);
    const paths = agentPaths(id);
    const known = before && files.size(paths.history) === before.history.size ? before : undefined;
    const keys = before ? [] : dedupeKeysIn(files.read(paths.pending));
    const read = await readSharedAgent(this.#store.connections, id, known?.history.nextPos ?? 0, keys);
    if (!read) return;
    files.makeDir(AGENTS_DIR);
    const report = (notice: MirrorNotice): void => this.#log.warn(noticeText(notice));
    const mirroring = {
      source: read.source,
      files,
      report,
      wrote: () => {},
      last: 0,
      closely: false,
      archiveAbove: this.#archiveAbove,
    };
    const after = mirrorAgent(mirroring, read.no, known);
    if (after) this.#known.set(id, after);
    const [oldest] = this.#known.keys();
    if (this.#known.size > KNOWN_AGENTS && oldest !== undefined) this.#known.delete(oldest);
  }
}
