/**
 * The mirror: follows the log of changes and keeps the plain files in step (M6). It only ever reads the database, and
 * only moves its mark after the files are written, so that a crash anywhere is repaired by going on.
 */
import { NO_BUDGETS } from "./budgets-file.ts";
import { AGENTS_DIR, ASIDE_DIR, BUDGETS_FILE, jsonText, SUBAGENTS_FILE, SWARMS_FILE } from "./file-format.ts";
import { compareMark, type Mark, readMark, writeMark } from "./mark-file.ts";
import { type KnownAgent, type MirroringAgent, mirrorAgent } from "./mirror-agent.ts";
import type { MirrorFiles } from "./mirror-files.ts";
import { jobRunsMirror } from "./mirror-job-runs.ts";
import { jobsMirror } from "./mirror-jobs.ts";
import type { MirrorNotice } from "./mirror-notice.ts";
import type { LoggedChange, MirrorSource } from "./mirror-source.ts";

const CHANGES_PER_STEP = 20_000;
const AGENTS_PER_PASS_STEP = 200;
/** Agents whose files are remembered; the others are looked at again when they are touched. */
const KNOWN_AGENTS = 2_000;

export interface MirrorOptions {
  readonly source: MirrorSource;
  readonly files: MirrorFiles;
  readonly now: () => number;
  readonly report?: (notice: MirrorNotice) => void;
}

export interface MirrorLag {
  /** Committed changes that are not in the files yet. */
  readonly behind: number;
  /** How long ago the oldest of them was made. */
  readonly ms: number;
}

export interface Mirror {
  /** One portion of work. Tells whether there is more to do at once. May throw what the disk throws: try again later. */
  step(): { readonly more: boolean };
  /** Brings what was written to the disk, then the mark. */
  sync(): void;
  /** Whether anything waits for `sync`. */
  unsynced(): boolean;
  lag(): MirrorLag;
  /** The last sync of an orderly end. Everything must have been stepped. */
  close(): void;
}

/** A pass over every agent, needed where the log of changes does not tell whom to look at. */
interface Pass {
  readonly until: number;
  readonly otherDatabase: boolean;
  next: number;
}

export function openMirror({ source, files, now, report = () => {} }: MirrorOptions): Mirror {
  const known = new Map<number, KnownAgent>();
  const unsynced = new Set<string>();
  const { mark, trusted } = trustedMark(source, files, report);
  /** Every change up to here is in the files. */
  let done = mark?.synced ?? 0;
  let syncedTo = done;
  /** Up to here files may have been written when the program ended out of order. */
  const suspectUntil = mark?.clean ? done : source.bounds().last;
  let clean = mark?.clean ?? false;
  let pass: Pass | undefined = trusted === "same" ? undefined : newPass(trusted === "other");

  function newPass(otherDatabase: boolean): Pass {
    known.clear();
    return { until: source.bounds().last, otherDatabase, next: 0 };
  }

  const wrote = (path: string): void => void unsynced.add(path);

  /** From here on the end is not orderly, and the disk must know before the first file changes. */
  function begin(): void {
    if (!clean) return;
    writeMark(files, {
      version: 1,
      synced: syncedTo,
      change: source.changeId(syncedTo) ?? null,
      at: now(),
      clean: false,
    });
    clean = false;
  }

  function mirrorAgents(numbers: Iterable<number>): void {
    const { last } = source.bounds();
    const closely = pass !== undefined || done < suspectUntil;
    const mirroring: MirroringAgent = { source, files, report, wrote, last, closely };
    for (const no of numbers) {
      const before = known.get(no);
      // Taken out and put back at the end: the map stays in order of use, and a write that fails leaves nothing remembered.
      known.delete(no);
      const after = mirrorAgent(mirroring, no, before);
      if (after) known.set(no, after);
    }
    for (const no of known.keys()) {
      if (known.size <= KNOWN_AGENTS) break;
      known.delete(no);
    }
  }

  function mirrorRegistry(path: string, dir: string, value: unknown): void {
    const text = jsonText(value);
    if (files.read(path)?.toString() === text) return;
    files.makeDir(dir);
    files.replace(path, text);
    wrote(".");
    wrote(dir);
    wrote(path);
  }
  const mirrorSubagents = (): void => {
    const runs = source.subagentRuns() as readonly { readonly runId: string }[];
    mirrorRegistry(SUBAGENTS_FILE, "subagents", {
      version: 2,
      runs: Object.fromEntries(runs.map((run) => [run.runId, run])),
    });
  };
  const mirrorBudgets = (): void => {
    const budgets = source.consistently(() => source.budgets());
    if (budgets || files.size(BUDGETS_FILE) !== undefined) mirrorRegistry(BUDGETS_FILE, ".", budgets ?? NO_BUDGETS);
  };
  const jobs = jobsMirror(source, files, wrote);
  const jobRuns = jobRunsMirror(source, files, wrote);

  const mirrorSwarms = (): void => {
    const swarms = source.swarms();
    // Where there never was one, there is no file either.
    if (swarms.length > 0 || files.read(SWARMS_FILE)) mirrorRegistry(SWARMS_FILE, "swarms", { version: 1, swarms });
  };

  function stepPass(current: Pass): { more: boolean } {
    const numbers = source.agentsAfter(current.next, AGENTS_PER_PASS_STEP);
    mirrorAgents(numbers);
    current.next = numbers.at(-1) ?? current.next;
    if (numbers.length === AGENTS_PER_PASS_STEP) return { more: true };
    mirrorSubagents();
    mirrorBudgets();
    jobs.all();
    jobRuns.all();
    mirrorSwarms();
    if (current.otherDatabase) setAgentsAside();
    pass = undefined;
    done = current.until;
    return { more: source.bounds().last > done };
  }

  /** Agents the database does not know would come back at the next rebuild: they are moved out of the way, whole. */
  function setAgentsAside(): void {
    for (const id of files.list(AGENTS_DIR)) {
      if (source.knowsAgent(id)) continue;
      files.makeDir(ASIDE_DIR);
      const taken = files.list(ASIDE_DIR);
      let name = id;
      for (let count = 2; taken.includes(name); count++) name = `${id}-${count}`;
      files.move(`${AGENTS_DIR}/${id}`, `${ASIDE_DIR}/${name}`);
      for (const dir of [".", AGENTS_DIR, ASIDE_DIR]) wrote(dir);
      report({ kind: "orphaned-agent", file: `${AGENTS_DIR}/${id}`, aside: `${ASIDE_DIR}/${name}` });
    }
  }

  function stepChanges(changes: readonly LoggedChange[]): { more: boolean } {
    const { agents, words } = touchedBy(changes);
    mirrorAgents(agents);
    if (words.has("subagents")) mirrorSubagents();
    if (words.has("budgets")) mirrorBudgets();
    if (words.has("jobs")) jobs.all();
    const changedJobs = [...words].flatMap((word) =>
      word.startsWith("job:") ? [decodeURIComponent(word.slice(4))] : [],
    );
    if (changedJobs.length > 0) jobs.changed(changedJobs);
    const slots = [...words].flatMap((word) => (word.startsWith("slot:") ? [word.slice(5)] : []));
    if (slots.length > 0) jobRuns.changed(slots);
    if (words.has("swarms")) mirrorSwarms();
    done = changes.at(-1)?.n ?? done;
    return { more: changes.length === CHANGES_PER_STEP };
  }

  function sync(): void {
    if (unsynced.size === 0 && done === syncedTo) return;
    syncFiles(false);
  }

  /** During a pass the old mark stays: what it says leads to the same pass again. */
  function syncFiles(asClean: boolean): void {
    for (const path of unsynced) files.sync(path);
    if (!pass) markAt(asClean);
    unsynced.clear();
  }

  function markAt(asClean: boolean): void {
    writeMark(files, { version: 1, synced: done, change: source.changeId(done) ?? null, at: now(), clean: asClean });
    syncedTo = done;
    clean = asClean;
  }

  return {
    step() {
      if (!pass) {
        const changes = source.changesAfter(done, CHANGES_PER_STEP);
        const first = changes[0];
        if (!first) {
          if (source.bounds().last >= done) return { more: false };
        } else if (first.n === done + 1) {
          begin();
          return stepChanges(changes);
        }
        // Changes were pruned before the files had them, or the log begins anew.
        pass = newPass(false);
      }
      begin();
      return stepPass(pass);
    },
    sync,
    unsynced: () => unsynced.size > 0 || (!pass && done !== syncedTo),
    lag() {
      const { last } = source.bounds();
      const oldest = last > done ? source.changesAfter(done, 1)[0] : undefined;
      return { behind: Math.max(0, last - done), ms: oldest ? Math.max(0, now() - oldest.at) : 0 };
    },
    close() {
      if (clean && unsynced.size === 0 && done === syncedTo) return;
      syncFiles(true);
    },
  };
}

/** The mark to go on from, where the log of changes tells what came after it. */
function trustedMark(
  source: MirrorSource,
  files: MirrorFiles,
  report: (notice: MirrorNotice) => void,
): { mark: Mark | undefined; trusted: ReturnType<typeof compareMark> } {
  const mark = readMark(files);
  if (!mark) return { mark, trusted: "unknown" };
  const trusted = compareMark(source, mark);
  if (trusted !== "other") return { mark, trusted };
  report({ kind: "other-database", synced: mark.synced, last: source.bounds().last });
  return { mark: undefined, trusted };
}

function touchedBy(changes: readonly LoggedChange[]): { agents: Set<number>; words: Set<string> } {
  const agents = new Set<number>();
  const words = new Set<string>();
  for (const { touched } of changes) {
    for (const word of touched.split(" ")) {
      const no = Number(word);
      if (Number.isInteger(no) && no > 0) agents.add(no);
      else words.add(word);
    }
  }
  return { agents, words };
}
