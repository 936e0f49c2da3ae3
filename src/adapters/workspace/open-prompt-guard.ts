/**
 * Keeps the promise that prompt files change only through a reviewed change, while commands and servers live that could write them: see
 * `PromptGuard`. Each such writer has a lease. With several, a file counts as the newest lease has it, which was made of what counted
 * then. The files are put right one writer after the other, never during a reviewed change.
 */
import { dirname, join, relative, sep } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { FILE_MODE } from "../../config/paths.ts";
import { errorText, InvariantError } from "../../core/errors.ts";
import type { FileVersion } from "../../core/file-change.ts";
import type { Log } from "../../core/ports/log.ts";
import { makeDirectory } from "../system/make-directory.ts";
import {
  type KeptFor,
  NOTHING_SETTLED,
  ON_DISK,
  type PromptGuard,
  type Settled,
  type Trusted,
} from "../tools/files/prompt-guard.ts";
import { type FoundRepositories, findRepositories, isIn, NO_REPOSITORIES } from "../tools/files/repository-files.ts";
import { setAside } from "../tools/files/set-aside.ts";
import { PROMPT_NAMES } from "./guarded-workspace-files.ts";
import { changesSince, madeBy, repositoryStates } from "./made-repositories.ts";
import {
  bytesAt,
  filesBelow,
  identityOf,
  type LeaseEntry,
  readLeases,
  realOf,
  removeLease,
  replaceFile,
  stampOf,
  stateAt,
  statesBelow,
  statsAt,
  type WriterLease,
  writeLease,
} from "./writer-lease.ts";

export interface MadeChange extends KeptFor {
  readonly path: string;
  /** Null: no file. */
  readonly before: Buffer | null;
  readonly after: Buffer | null;
}

/** The changes that people have reviewed. */
interface Reviews {
  /** The number of the last change. */
  last(): number;
  /** The files that were changed after that one, by their real paths, with their latest versions. */
  since(change: number): ReadonlyMap<string, FileVersion | null>;
  /** Undefined if the content is not kept any more. */
  bytesOf(version: FileVersion | null): Buffer | null | undefined;
  /** No change is made until `work` is done. */
  exclusive<T>(work: () => Promise<T>): Promise<T>;
  /** Keeps a change that was made already, unless it was kept after the change `since`. */
  keep(made: MadeChange, since: number): Promise<void>;
}

interface GuardParts {
  /** Where the leases are. */
  readonly directory: string;
  readonly reviews: Reviews;
  now(): number;
  readonly log?: Pick<Log, "warn">;
}

export interface HomeGuard extends PromptGuard {
  /** Nothing below this directory is kept any more. */
  forget(directory: string): Promise<void>;
}

export const openPromptGuard = (parts: GuardParts): HomeGuard => new LeasedFiles(parts);

const ABSENT: Trusted = { is: "absent" };
/** No file has this name: what counts for it counts for whatever may be in its directory. */
const ANY_NAME = ".rookery-any";
/** Directories that are searched after a writer: it may have made many. */
const MAX_AFTER = 500_000;
/** Files that are noted before the process does its other work. */
const PORTION = 50;

class LeasedFiles implements HomeGuard {
  readonly #parts: GuardParts;
  /** The oldest first. */
  #leases: WriterLease[] | undefined;
  readonly #left = new Set<string>();
  /** Leases that differ from their files. */
  readonly #changed = new Set<string>();
  /** Directories that got prompt files since this process started: a writer whose paths were listed before that knows them too. */
  readonly #adopted = new Set<string>();

  constructor(parts: GuardParts) {
    this.#parts = parts;
  }

  #all(): WriterLease[] {
    if (this.#leases) return this.#leases;
    this.#leases = [...readLeases(this.#parts.directory)];
    for (const { writer } of this.#leases) this.#left.add(writer);
    return this.#leases;
  }

  of(path: string): Trusted {
    const leases = this.#all();
    if (leases.length === 0) return ON_DISK;
    const real = realOf(path);
    for (const lease of leases.toReversed()) {
      const found = nearest(lease, path) ?? nearest(lease, real);
      const trusted = found ? this.#trusted(lease, found.entry, found.rest) : ON_DISK;
      if (trusted.is !== "disk") return trusted;
    }
    return ON_DISK;
  }

  #trusted(lease: WriterLease, entry: LeaseEntry, rest: string): Trusted {
    const { state, path, real } = entry;
    const now = state.is === "directory" || state.is === "large" ? statsAt(path) : undefined;
    if (state.is === "directory") {
      if (now?.isDirectory() && identityOf(now) === state.identity) return ON_DISK;
      // It was moved away, so its mount is gone. It may come back with another content.
      this.#replace({ ...lease, entries: lease.entries.map((one) => (one === entry ? missing(one) : one)) });
    }
    if (state.is === "large" && now && stampOf(now) === state.stamp) return ON_DISK;
    const reviewed = this.#reviewed(lease, join(real, rest));
    if (reviewed) return reviewed;
    return state.is === "file" && rest === "" ? { is: "text", bytes: Buffer.from(state.base64, "base64") } : ABSENT;
  }

  #reviewed({ since }: WriterLease, real: string): Trusted | undefined {
    const version = this.#parts.reviews.since(since).get(real);
    const bytes = version === undefined ? undefined : this.#parts.reviews.bytesOf(version);
    if (bytes === undefined) return undefined;
    return bytes === null ? ABSENT : { is: "text", bytes };
  }

  names(directory: string): readonly string[] | undefined {
    if (this.#all().length === 0 || this.of(join(directory, ANY_NAME)).is === "disk") return undefined;
    const names = [
      ...this.#below(directory).keys(),
      ...this.#unchanged(directory).map((path) => relative(directory, path)),
    ];
    return [...new Set(names.map((name) => name.split(sep)[0] ?? name))].sort();
  }

  /** The files in a directory that does not count as a whole. */
  #below(directory: string): ReadonlyMap<string, Buffer> {
    const root = realOf(directory);
    const leases = this.#all();
    const first = Math.min(...leases.map(({ since }) => since));
    const kept = leases.flatMap(({ entries }) => entries.filter(({ state }) => state.is === "file"));
    const all = [...kept.map(({ real }) => real), ...this.#parts.reviews.since(first).keys()];
    const found = new Map<string, Buffer>();
    for (const path of all) {
      const trusted = path.startsWith(`${root}${sep}`) ? this.of(path) : ABSENT;
      if (trusted.is === "text") found.set(relative(root, path), trusted.bytes);
    }
    return found;
  }

  /** The files in such a directory that are too large to be kept and as they were. */
  #unchanged(directory: string): readonly string[] {
    return filesBelow(directory).filter((path) => this.of(path).is === "disk");
  }

  begin(
    writer: string,
    paths: readonly string[],
    writable: readonly string[] = [],
    repositories?: "guarded" | KeptFor,
  ): Promise<void> {
    if (paths.length === 0 && writable.length === 0) return Promise.resolve();
    return this.#parts.reviews.exclusive(async () => {
      const { directory, reviews, now } = this.#parts;
      const isGuarded = repositories === "guarded";
      const kept =
        isGuarded || !repositories ? undefined : { ...repositories, before: await repositoryStates(writable) };
      const entries: LeaseEntry[] = [];
      for (const path of new Set(paths)) {
        entries.push(...this.#noted(path));
        if (entries.length % PORTION === 0) await nextTurn();
      }
      const place = realOf(directory);
      const at = { at: now(), since: reviews.last() };
      let lease: WriterLease = {
        writer,
        place,
        ...at,
        writable: withReal(writable),
        repositories: isGuarded,
        kept,
        entries,
      };
      for (const one of this.#adopted) lease = this.#with(lease, one) ?? lease;
      // Before it is written: a file that is adopted while it is written is stored after it.
      this.#leases = [...this.#others(writer), lease];
      try {
        await writeLease(directory, lease);
      } catch (error) {
        this.#leases = this.#others(writer);
        throw error;
      }
      this.#left.delete(writer);
    });
  }

  adopt(directory: string): Promise<void> {
    this.#adopted.add(directory);
    // The oldest first: what counts by an earlier lease is what the later ones note.
    const grown = this.#all().flatMap((lease) => {
      const more = this.#with(lease, directory);
      if (more) this.#replace(more);
      return more ?? [];
    });
    return grown.length === 0 ? Promise.resolve() : this.#parts.reviews.exclusive(() => this.#store());
  }

  /** The lease with the prompt files of a directory; undefined if its writer cannot write there, or if it has them. */
  #with(lease: WriterLease, directory: string): WriterLease | undefined {
    const places = withReal([directory]);
    if (!lease.writable.some((root) => places.some((path) => isIn(root, path)))) return undefined;
    const open = PROMPT_NAMES.map((name) => join(directory, name)).filter((path) => !nearest(lease, path));
    if (open.length === 0) return undefined;
    return { ...lease, entries: [...lease.entries, ...open.flatMap((path) => this.#notedLate(path))] };
  }

  /** A directory that the writer can write has no mount: what is in it is noted file by file. */
  #notedLate(path: string): readonly LeaseEntry[] {
    const isOpen = this.of(path).is === "disk" && statsAt(path)?.isDirectory() === true;
    return isOpen ? statesBelow(path, filesBelow(path)) : this.#noted(path);
  }

  /** Of a path that an earlier writer may have changed, what counts is noted instead of what is there. */
  #noted(path: string): readonly LeaseEntry[] {
    const real = realOf(path);
    const before = this.#all().findLast((lease) => nearest(lease, path)?.rest === "");
    const state = before && nearest(before, path)?.entry.state;
    if (state?.is === "other") return [{ path, real, state }];
    const trusted = this.of(path);
    if (trusted.is === "disk") return [{ path, real, state: stateAt(path) }];
    const mode = state?.is === "file" ? state.mode : FILE_MODE;
    const file = (bytes: Buffer) => ({ is: "file", base64: bytes.toString("base64"), mode }) as const;
    if (trusted.is === "text") return [{ path, real, state: file(trusted.bytes) }];
    const below = [...this.#below(path)];
    return [
      { path, real, state: { is: "absent" } },
      ...below.map(([name, bytes]) => ({ path: join(path, name), real: join(real, name), state: file(bytes) })),
    ];
  }

  async check(writer: string): Promise<readonly string[]> {
    const { files } = await this.#repositoriesOf(writer);
    if (!this.#leaseOf(writer)) return [];
    return this.#parts.reviews.exclusive(async () => (await this.#putRight(writer, files)).aside);
  }

  async end(writer: string): Promise<Settled> {
    const { files, unsearched } = await this.#repositoriesOf(writer);
    const others = new Map<string, readonly string[]>();
    if (this.#leaseOf(writer)?.repositories === false)
      for (const one of this.#others(writer)) others.set(one.writer, (await this.#repositoriesOf(one.writer)).files);
    if (!this.#leaseOf(writer)) return NOTHING_SETTLED;
    return this.#parts.reviews.exclusive(async () => {
      const { changed, refused } = await this.#keep(writer);
      const { aside, isDone } = await this.#putRight(writer, files);
      for (const [other, found] of others) await this.#adoptRepositories(other, found);
      const settled = { aside: [...refused, ...aside], changed, unsearched };
      if (!isDone) {
        this.#left.add(writer);
        return settled;
      }
      await removeLease(this.#parts.directory, writer);
      this.#leases = this.#others(writer);
      this.#left.delete(writer);
      return settled;
    });
  }

  /** Keeps the changes that a writer has made in repositories with a yes, and sets the others aside. */
  async #keep(writer: string): Promise<{ readonly changed: readonly string[]; readonly refused: readonly string[] }> {
    const lease = this.#leaseOf(writer);
    const changed: string[] = [];
    const refused: string[] = [];
    if (!lease?.kept) return { changed, refused };
    const { by, why, before } = lease.kept;
    for (const { path, was, is } of await changesSince(before, lease.writable)) {
      if (is === undefined) {
        await setAside(path);
        if (was !== null) await restored(path, path, was, FILE_MODE);
        refused.push(path);
      } else {
        await this.#parts.reviews.keep({ path, before: was, after: is, by, why }, lease.since);
        changed.push(path);
      }
    }
    return { changed, refused };
  }

  /** Before changes wait for it: it may take long. */
  async #repositoriesOf(writer: string): Promise<Pick<FoundRepositories, "files" | "unsearched">> {
    const lease = this.#leaseOf(writer);
    if (!lease?.repositories) return NO_REPOSITORIES;
    const { files, unsearched } = await findRepositories(lease.writable, MAX_AFTER);
    // It could not write in those that were mounted read-only.
    return { files, unsearched: unsearched.filter((path) => !nearest(lease, path)) };
  }

  /** Files that git has made with a yes count for the other writers as they are now. */
  async #adoptRepositories(writer: string, files: readonly string[]): Promise<void> {
    const before = this.#leaseOf(writer);
    const made = before ? await madeBy(before, files) : [];
    const lease = this.#leaseOf(writer);
    if (!lease || made.length === 0) return;
    this.#replace({ ...lease, entries: [...lease.entries, ...made.flatMap((path) => this.#notedLate(path))] });
  }

  left(): readonly string[] {
    this.#all();
    return [...this.#left];
  }

  async forget(directory: string): Promise<void> {
    const isKept = ({ real }: LeaseEntry): boolean => !isIn(directory, real);
    await this.#parts.reviews.exclusive(async () => {
      for (const one of this.#adopted) if (isIn(directory, realOf(one))) this.#adopted.delete(one);
      for (const lease of this.#all()) {
        const entries = lease.entries.filter(isKept);
        if (entries.length < lease.entries.length) this.#replace({ ...lease, entries });
      }
      await this.#store();
    });
  }

  #others(writer: string): WriterLease[] {
    return this.#all().filter((one) => one.writer !== writer);
  }

  #leaseOf(writer: string): WriterLease | undefined {
    return this.#all().find((lease) => lease.writer === writer);
  }

  #replace(lease: WriterLease): void {
    this.#leases = this.#all().map((one) => (one.writer === lease.writer ? lease : one));
    this.#changed.add(lease.writer);
  }

  async #store(): Promise<void> {
    for (const lease of this.#all())
      if (this.#changed.delete(lease.writer)) await writeLease(this.#parts.directory, lease);
  }

  /** `isDone`: every file is as it counts. */
  async #putRight(
    writer: string,
    repositories: readonly string[],
  ): Promise<{ readonly aside: readonly string[]; readonly isDone: boolean }> {
    const { log } = this.#parts;
    const lease = this.#leaseOf(writer);
    const aside: string[] = [];
    let isDone = true;
    for (const entry of lease?.entries ?? []) {
      try {
        if (await this.#put(entry)) aside.push(entry.path);
      } catch (error) {
        isDone = false;
        log?.warn("A file is not as the last reviewed change made it. It does not count until it is.", {
          ...{ file: entry.path, error: errorText(error) },
        });
      }
    }
    const now = this.#leaseOf(writer);
    for (const path of now ? await madeBy(now, repositories) : []) {
      try {
        await setAside(path);
        aside.push(path);
      } catch (error) {
        isDone = false;
        log?.warn("A new file that git obeys was not set aside.", { file: path, error: errorText(error) });
      }
    }
    await this.#store();
    if (aside.length > 0)
      log?.warn("Files that only a reviewed change makes were set aside.", { files: aside.join(", ") });
    return { aside, isDone };
  }

  /** Returns whether something was set aside. Throws if the file cannot be put right. */
  async #put({ path, real, state }: LeaseEntry): Promise<boolean> {
    const now = statsAt(path);
    if (state.is === "other") return (now?.isFile() || now?.isDirectory()) === true && moved(path);
    const trusted = this.of(path);
    if (trusted.is === "disk") return false;
    const wanted = trusted.is === "text" ? new Map([["", trusted.bytes]]) : this.#below(path);
    const unchanged = new Set(this.#unchanged(path));
    if (wanted.size + unchanged.size === 0) return now !== undefined && moved(path);
    if (isSame(path, wanted, unchanged)) return false;
    const isAside = now !== undefined && (await moved(path));
    const mode = state.is === "file" ? state.mode : FILE_MODE;
    for (const [name, bytes] of wanted) await restored(join(path, name), join(real, name), bytes, mode);
    return isAside;
  }
}

const withReal = (paths: readonly string[]): readonly string[] => [
  ...new Set(paths.flatMap((path) => [path, realOf(path)])),
];

const missing = ({ path, real }: LeaseEntry): LeaseEntry => ({ path, real, state: { is: "absent" } });

const indexes = new WeakMap<WriterLease, ReadonlyMap<string, LeaseEntry>>();

/** The entry of a path, or of the nearest directory above it. */
function nearest(lease: WriterLease, path: string): { readonly entry: LeaseEntry; readonly rest: string } | undefined {
  const known =
    indexes.get(lease) ??
    new Map(lease.entries.flatMap((entry) => [[entry.real, entry] as const, [entry.path, entry]]));
  indexes.set(lease, known);
  for (let at = path; ; at = dirname(at)) {
    const entry = known.get(at);
    if (entry) return { entry, rest: relative(at, path) };
    if (dirname(at) === at) return undefined;
  }
}

async function moved(path: string): Promise<true> {
  await setAside(path);
  return true;
}

/** Whether exactly these files are there. The name "" is that of the path itself. */
function isSame(path: string, wanted: ReadonlyMap<string, Buffer>, unchanged: ReadonlySet<string>): boolean {
  const isAsWanted = (name: string): boolean => {
    const bytes = wanted.get(name);
    return bytes !== undefined && bytesAt(join(path, name), bytes.length)?.equals(bytes) === true;
  };
  if (wanted.has("")) return isAsWanted("");
  const found = filesBelow(path).filter((file) => !unchanged.has(file));
  return found.length === wanted.size && found.every((file) => isAsWanted(relative(path, file)));
}

async function restored(path: string, real: string, bytes: Buffer, mode: number): Promise<void> {
  if (realOf(path) !== real) throw new InvariantError(`A link leads from ${path} to another place.`);
  makeDirectory(dirname(path));
  await replaceFile(path, bytes, mode);
}
