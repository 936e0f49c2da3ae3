/**
 * The mirror: follows the log of changes and keeps the plain files up to date (M6). It only reads the database, and moves
 * its mark only after the files are written, so that after a crash anywhere it can simply continue.
 */
import { NO_BUDGETS } from "./budgets-file.ts";
import {
  AGENTS_DIR,
  ASIDE_DIR,
  BUDGETS_FILE,
  jsonText,
  PEOPLE_FILE,
  STORED_FILES_FILE,
  SUBAGENTS_FILE,
  SWARMS_FILE,
} from "./file-format.ts";
import { ARCHIVE_ABOVE_BYTES } from "./history-archive.ts";
import { compareMark, type Mark, readMark, writeMark } from "./mark-file.ts";
import { type KnownAgent, type MirroringAgent, mirrorAgent } from "./mirror-agent.ts";
import type { MirrorFiles } from "./mirror-files.ts";
import { type JobRunsMirror, jobRunsMirror } from "./mirror-job-runs.ts";
import { type JobsMirror, jobsMirror } from "./mirror-jobs.ts";
import type { MirrorNotice } from "./mirror-notice.ts";
import type { LoggedChange, MirrorSource } from "./mirror-source.ts";
import { storedFilesFile } from "./stored-files-file.ts";

const CHANGES_PER_STEP = 20_000;
const AGENTS_PER_PASS_STEP = 200;
/** Agents whose files are cached; the files of others are read again when a change touches them. */
const KNOWN_AGENTS = 2_000;

interface MirrorOptions {
  readonly source: MirrorSource;
  readonly files: MirrorFiles;
  readonly now: () => number;
  readonly report?: (notice: MirrorNotice) => void;
  /** The size in bytes above which a history at rest is archived. */
  readonly archiveAbove?: number;
}

interface Stepped {
  readonly more: boolean;
  readonly isPass?: boolean;
}

export interface MirrorLag {
  /** Committed changes that are not in the files yet. */
  readonly behind: number;
  /** How long ago the oldest of them was made. */
  readonly ms: number;
}

/** A pass over every agent, needed if the log of changes cannot tell which agents changed. */
interface Pass {
  readonly until: number;
  readonly otherDatabase: boolean;
  next: number;
}

export const openMirror = (options: MirrorOptions): Mirror => new Mirror(options);

export class Mirror {
  readonly #source: MirrorSource;
  readonly #files: MirrorFiles;
  readonly #now: () => number;
  readonly #report: (notice: MirrorNotice) => void;
  readonly #archiveAbove: number;
  readonly #jobs: JobsMirror;
  readonly #jobRuns: JobRunsMirror;
  readonly #known = new Map<number, KnownAgent>();
  readonly #unsynced = new Set<string>();
  /** Up to this change files may have been written when the program ended without a clean stop. */
  readonly #suspectUntil: number;
  /** Every change up to here is in the files. */
  #done: number;
  #syncedTo: number;
  /** Whether the mark on the disk says that nothing was written after it. */
  #clean: boolean;
  #pass: Pass | undefined;

  constructor({ source, files, now, report = () => {}, archiveAbove = ARCHIVE_ABOVE_BYTES }: MirrorOptions) {
    this.#source = source;
    this.#files = files;
    this.#now = now;
    this.#report = report;
    this.#archiveAbove = archiveAbove;
    this.#jobs = jobsMirror(source, files, this.#wrote);
    this.#jobRuns = jobRunsMirror(source, files, this.#wrote);
    const { mark, trusted } = trustedMark(source, files, report);
    this.#done = mark?.synced ?? 0;
    this.#syncedTo = this.#done;
    this.#clean = mark?.clean ?? false;
    this.#suspectUntil = mark?.clean ? this.#done : source.bounds().last;
    this.#pass = trusted === "same" ? undefined : this.#newPass(trusted === "other");
  }

  /**
   * Does one portion of work; `more`: call it again. `isPass`: it compares all agents, which takes long and is not urgent. May
   * throw the disk's errors: try again later.
   */
  step(): Stepped {
    if (!this.#pass) {
      const changes = this.#source.changesAfter(this.#done, CHANGES_PER_STEP);
      const first = changes[0];
      if (!first) {
        if (this.#source.bounds().last >= this.#done) return { more: false };
      } else if (first.n === this.#done + 1) {
        this.#begin();
        return this.#stepChanges(changes);
      }
      // Changes were pruned before they reached the files, or the log starts over.
      this.#pass = this.#newPass(false);
    }
    this.#begin();
    return this.#stepPass(this.#pass);
  }

  /** Flushes the written files to the disk, then the mark. */
  sync(): void {
    if (this.#unsynced.size === 0 && this.#done === this.#syncedTo) return;
    this.#syncFiles(false);
  }

  /** Whether anything waits for `sync`. */
  unsynced(): boolean {
    return this.#unsynced.size > 0 || (!this.#pass && this.#done !== this.#syncedTo);
  }

  lag(): MirrorLag {
    const { last } = this.#source.bounds();
    const oldest = last > this.#done ? this.#source.changesAfter(this.#done, 1)[0] : undefined;
    return { behind: Math.max(0, last - this.#done), ms: oldest ? Math.max(0, this.#now() - oldest.at) : 0 };
  }

  /** The last sync of a clean stop. Before it, call `step` until `more` is false. */
  close(): void {
    // A mark is clean only as long as nothing was written after it.
    if (this.#clean) return;
    this.#syncFiles(true);
  }

  readonly #wrote = (path: string): void => void this.#unsynced.add(path);

  #newPass(otherDatabase: boolean): Pass {
    this.#known.clear();
    return { until: this.#source.bounds().last, otherDatabase, next: 0 };
  }

  /** Writes a mark that is not clean before the first file changes. */
  #begin(): void {
    if (!this.#clean) return;
    const change = this.#source.changeId(this.#syncedTo) ?? null;
    writeMark(this.#files, { version: 1, synced: this.#syncedTo, change, at: this.#now(), clean: false });
    this.#clean = false;
  }

  #stepPass(pass: Pass): Stepped {
    const numbers = this.#source.agentsAfter(pass.next, AGENTS_PER_PASS_STEP);
    this.#mirrorAgents(numbers);
    pass.next = numbers.at(-1) ?? pass.next;
    if (numbers.length === AGENTS_PER_PASS_STEP) return { more: true, isPass: true };
    this.#mirrorSubagents();
    this.#mirrorBudgets();
    this.#jobs.all();
    this.#jobRuns.all();
    this.#mirrorSwarms();
    this.#mirrorPeople();
    this.#mirrorStoredFiles();
    if (pass.otherDatabase) this.#setAgentsAside();
    this.#pass = undefined;
    this.#done = pass.until;
    return { more: this.#source.bounds().last > this.#done };
  }

  #stepChanges(changes: readonly LoggedChange[]): Stepped {
    const { agents, words } = touchedBy(changes);
    this.#mirrorAgents(agents);
    if (words.has("subagents")) this.#mirrorSubagents();
    if (words.has("budgets")) this.#mirrorBudgets();
    if (words.has("jobs")) this.#jobs.all();
    const changedJobs = [...words].flatMap((word) =>
      word.startsWith("job:") ? [decodeURIComponent(word.slice(4))] : [],
    );
    if (changedJobs.length > 0) this.#jobs.changed(changedJobs);
    // Rows of a forgotten person must not stay in older lines.
    if (words.has("slots")) {
      this.#jobs.rewrite();
      this.#jobRuns.all();
    }
    const slots = [...words].flatMap((word) => (word.startsWith("slot:") ? [word.slice(5)] : []));
    if (slots.length > 0) this.#jobRuns.changed(slots);
    if (words.has("swarms")) this.#mirrorSwarms();
    if (words.has("people")) this.#mirrorPeople();
    if (words.has("files")) this.#mirrorStoredFiles();
    this.#done = changes.at(-1)?.n ?? this.#done;
    return { more: changes.length === CHANGES_PER_STEP };
  }

  #mirrorAgents(numbers: Iterable<number>): void {
    const mirroring: MirroringAgent = {
      source: this.#source,
      files: this.#files,
      report: this.#report,
      wrote: this.#wrote,
      last: this.#source.bounds().last,
      archiveAbove: this.#archiveAbove,
      closely: this.#pass !== undefined || this.#done < this.#suspectUntil,
    };
    for (const no of numbers) {
      const before = this.#known.get(no);
      // Deleted and added again at the end: the map stays in order of use, and a failed write leaves no entry.
      this.#known.delete(no);
      const after = mirrorAgent(mirroring, no, before);
      if (after) this.#known.set(no, after);
    }
    for (const no of this.#known.keys()) {
      if (this.#known.size <= KNOWN_AGENTS) break;
      this.#known.delete(no);
    }
  }

  #mirrorSubagents(): void {
    const runs = this.#source.subagentRuns() as readonly { readonly runId: string }[];
    const byId = Object.fromEntries(runs.map((run) => [run.runId, run]));
    this.#mirrorRegistry(SUBAGENTS_FILE, "subagents", { version: 2, runs: byId });
  }

  #mirrorBudgets(): void {
    const budgets = this.#source.consistently(() => this.#source.budgets());
    if (budgets || this.#files.size(BUDGETS_FILE) !== undefined)
      this.#mirrorRegistry(BUDGETS_FILE, ".", budgets ?? NO_BUDGETS);
  }

  /** A home that never had a swarm has no file of swarms. */
  #mirrorSwarms(): void {
    const swarms = this.#source.swarms();
    if (swarms.length > 0 || this.#files.read(SWARMS_FILE))
      this.#mirrorRegistry(SWARMS_FILE, "swarms", { version: 1, swarms });
  }

  #mirrorPeople(): void {
    const people = this.#source.consistently(() => this.#source.people());
    if (people) this.#mirrorRegistry(PEOPLE_FILE, ".", people);
  }

  #mirrorStoredFiles(): void {
    const files = this.#source.consistently(() => this.#source.storedFiles());
    if (files || this.#files.size(STORED_FILES_FILE) !== undefined)
      this.#mirrorRegistry(STORED_FILES_FILE, ".", files ?? storedFilesFile([]));
  }

  #mirrorRegistry(path: string, dir: string, value: unknown): void {
    const text = jsonText(value);
    if (this.#files.read(path)?.toString() === text) return;
    this.#files.makeDir(dir);
    this.#files.replace(path, text);
    for (const written of [".", dir, path]) this.#wrote(written);
  }

  /** Agents the database does not know would come back at the next rebuild, so their directories are moved away. */
  #setAgentsAside(): void {
    for (const id of this.#files.list(AGENTS_DIR)) {
      if (this.#source.knowsAgent(id)) continue;
      this.#files.makeDir(ASIDE_DIR);
      const taken = this.#files.list(ASIDE_DIR);
      let name = id;
      for (let count = 2; taken.includes(name); count++) name = `${id}-${count}`;
      this.#files.move(`${AGENTS_DIR}/${id}`, `${ASIDE_DIR}/${name}`);
      for (const dir of [".", AGENTS_DIR, ASIDE_DIR]) this.#wrote(dir);
      this.#report({ kind: "orphaned-agent", file: `${AGENTS_DIR}/${id}`, aside: `${ASIDE_DIR}/${name}` });
    }
  }

  /** During a pass the old mark stays: a start that finds it makes the same pass again. */
  #syncFiles(clean: boolean): void {
    for (const path of this.#unsynced) this.#files.sync(path);
    if (!this.#pass) this.#writeMark(clean);
    this.#unsynced.clear();
  }

  #writeMark(clean: boolean): void {
    const change = this.#source.changeId(this.#done) ?? null;
    writeMark(this.#files, { version: 1, synced: this.#done, change, at: this.#now(), clean });
    this.#syncedTo = this.#done;
    this.#clean = clean;
  }
}

/** The mark to continue from, if the log of changes has everything after it. */
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
