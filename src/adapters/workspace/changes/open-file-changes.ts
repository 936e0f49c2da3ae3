/**
 * The changes of prompt files, notes, skills and the configuration: who made them, when and why, and the content before and after.
 * Both versions and the change itself are durable before the file changes, and the file is replaced whole. A crash in between leaves a
 * change that the next start settles by what the file contains (L11).
 */
import { realpathSync } from "node:fs";
import { isAbsolute, join, relative, resolve } from "node:path";
import type { HomePaths } from "../../../config/paths.ts";
import { ConflictError, InvalidInputError, NotFoundError } from "../../../core/errors.ts";
import type { ChangeAuthor, ChangeFilter, FileChange, FileVersion, KeptFile } from "../../../core/file-change.ts";
import { makeDirectory } from "../../system/make-directory.ts";
import { isInside } from "../../tools/files/allowed-path.ts";
import { realDisk } from "../../tools/files/disk.ts";
import type { CallOfRun, NewChange } from "../../tools/files/file-changes.ts";
import type { Trusted } from "../../tools/files/prompt-guard.ts";
import { decode } from "../../tools/files/read-text.ts";
import { removeInside } from "../../tools/files/remove-inside.ts";
import { versionOf } from "../../tools/files/text-version.ts";
import { writeInside } from "../../tools/files/write-inside.ts";
import { writeQueues } from "../../tools/files/write-queues.ts";
import { type HomeGuard, type MadeChange, openPromptGuard } from "../open-prompt-guard.ts";
import { personDirectory } from "../person-directory.ts";
import { filesIn } from "../skills/skill-bundle.ts";
import { replaceSkill, settleSkills } from "../skills/skill-directory.ts";
import { leaseDirectory } from "../writer-lease.ts";
import { ChangeJournal, withUndone } from "./change-journal.ts";
import type { CurrentFile, FileChanges, FileChangesParts, Written } from "./file-changes.ts";
import { contentAt } from "./kept-content.ts";
import { type KeptPlace, keptPlace } from "./kept-kinds.ts";
import { listKept } from "./list-kept.ts";
import { type VersionTexts, versionTexts } from "./version-texts.ts";

const changesDirectory = ({ home }: Pick<HomePaths, "home">): string => join(home, "changes");

export function openFileChanges(parts: FileChangesParts): FileChanges {
  return new HomeChanges(parts);
}

const OUTSIDE = "outside";

interface Kept extends NewChange {
  readonly undoes?: number;
}

class HomeChanges implements FileChanges {
  readonly #parts: FileChangesParts;
  readonly #directory: string;
  readonly #journal: ChangeJournal;
  readonly #texts: VersionTexts;
  readonly #queues = writeQueues();
  readonly guard: HomeGuard;
  #ready: Promise<void> | undefined;

  constructor(parts: FileChangesParts) {
    this.#parts = parts;
    this.#directory = changesDirectory(parts.paths);
    this.#journal = new ChangeJournal(this.#directory, parts.limits);
    this.#texts = versionTexts(join(this.#directory, "versions"));
    this.guard = openPromptGuard({
      directory: leaseDirectory(parts.paths),
      reviews: {
        last: () => this.#journal.last,
        since: (change) => this.#since(change),
        bytesOf: (version) => this.#texts.get(version),
        exclusive: (work) =>
          this.#exclusive(async () => {
            await this.#settle();
            return work();
          }),
        keep: (made, since) => this.#keepMade(made, since),
      },
      now: parts.now,
      log: parts.log,
    });
  }

  /** What was found outside of this program was not reviewed. */
  #since(change: number): ReadonlyMap<string, FileVersion | null> {
    const files = new Map<string, FileVersion | null>();
    if (this.#journal.last <= change) return files;
    for (const { id, state, by, file, after } of this.#journal.rows.values())
      if (id > change && state === "done" && by.surface !== OUTSIDE) files.set(this.#pathOf(file), after);
    return files;
  }

  keeps(path: string): boolean {
    return this.#placeOf(path) !== undefined;
  }

  trusted(path: string): Trusted {
    return this.guard.of(path);
  }

  around(change: NewChange, write: () => Promise<void>): Promise<number | undefined> {
    return this.#around(change, write);
  }

  async ofCall({ runId, callId }: CallOfRun): Promise<FileChange | undefined> {
    await this.#exclusive(() => this.#settle());
    return withUndone(this.#journal.rows).findLast(({ by }) => by.callId === callId && by.runId === runId);
  }

  async #around(change: Kept, write: () => Promise<void>): Promise<number | undefined> {
    const place = this.#placeOf(change.path);
    if (!place) {
      await write();
      return undefined;
    }
    return this.#queues.of(change.path)(() => this.#keep(place, change, write));
  }

  async #keep(place: KeptPlace, change: Kept, write: () => Promise<void>): Promise<number | undefined> {
    const { kind } = place;
    const { path, by, why, undoes, expect } = change;
    const bytes = await this.#contentAt(path, place);
    const before = bytes === null ? null : versionOf(bytes);
    const after = change.after === null ? null : versionOf(change.after);
    if (expect !== undefined && (before?.sha256 ?? null) !== expect) {
      throw new ConflictError(`${this.#fileOf(path)} has changed since you read it.`, { hint: "Read it again first." });
    }
    if (before?.sha256 === after?.sha256) {
      await write();
      return undefined;
    }
    const file = this.#fileOf(path);
    return this.#exclusive(async () => {
      await this.#settle();
      makeDirectory(this.#directory);
      await this.#texts.put(bytes);
      await this.#texts.put(change.after);
      await this.#bridge(kind, file, before);
      const row = await this.#journal.begin({ at: this.#parts.now(), kind, file, by, why, before, after, undoes });
      try {
        await write();
      } catch (error) {
        // An error may come after the file has changed.
        await this.#journal.end(row.id, await this.#outcomeOf(row));
        throw error;
      }
      // The file has changed. If its end cannot be written, the next start finds that out.
      await this.#journal.end(row.id, "done").catch(() => {});
      await this.#prune();
      return row.id;
    });
  }

  async #keepMade({ path, before, after, by, why }: MadeChange, since: number): Promise<void> {
    const file = this.#fileOf(path);
    const version = after === null ? null : versionOf(after);
    const last = this.#lastOf(file);
    if (last && last.id > since && last.after?.sha256 === version?.sha256) return;
    makeDirectory(this.#directory);
    const was = await this.#texts.put(before);
    await this.#texts.put(after);
    await this.#bridge("repository", file, was);
    const at = this.#parts.now();
    const row = await this.#journal.begin({ at, kind: "repository", file, by, why, before: was, after: version });
    await this.#journal.end(row.id, "done");
    await this.#prune();
  }

  /** Writes of all files are few; one after the other, the journal is in their order. */
  #exclusive<T>(work: () => Promise<T>): Promise<T> {
    return this.#queues.of(this.#directory)(work);
  }

  /** What was changed outside of this program since the last change is a change too. */
  async #bridge(kind: KeptPlace["kind"], file: string, now: FileVersion | null): Promise<void> {
    const last = this.#lastOf(file);
    if (!last || last.after?.sha256 === now?.sha256) return;
    const by: ChangeAuthor = { person: "unknown", surface: OUTSIDE };
    const row = await this.#journal.begin({ at: this.#parts.now(), kind, file, by, before: last.after, after: now });
    await this.#journal.end(row.id, "done");
  }

  #lastOf(file: string): FileChange | undefined {
    return [...this.#journal.rows.values()].findLast((row) => row.file === file && row.state === "done");
  }

  /** Once: changes that a crash has left open. */
  #settle(): Promise<void> {
    this.#ready ??= (async () => {
      await settleSkills(join(this.#home(), "skills"), this.#parts.skillDisk);
      for (const row of [...this.#journal.rows.values()])
        if (row.state === "begun") await this.#journal.end(row.id, await this.#outcomeOf(row));
    })();
    return this.#ready;
  }

  /** What counts. A command that runs may have put something else there. */
  async #contentAt(path: string, place: KeptPlace): Promise<Buffer | null> {
    const trusted = this.guard.of(path);
    if (trusted.is === "disk") return contentAt(path, place);
    return trusted.is === "text" ? trusted.bytes : null;
  }

  /** By what the file contains. */
  async #outcomeOf({ file, after }: Pick<FileChange, "file" | "after">): Promise<"done" | "failed"> {
    const path = this.#pathOf(file);
    const bytes = await contentAt(path, this.#placeOf(path)).catch(() => null);
    return (bytes === null ? undefined : versionOf(bytes).sha256) === after?.sha256 ? "done" : "failed";
  }

  async #prune(isRemoved?: (file: string) => boolean): Promise<void> {
    if (!(await this.#journal.prune(isRemoved && (({ file }) => isRemoved(file))))) return;
    const rows = [...this.#journal.rows.values()];
    const used = rows.flatMap(({ before, after }) => [before?.sha256, after?.sha256]);
    await this.#texts.keepOnly(new Set(used.filter((hash) => hash !== undefined)));
  }

  async list({ limit, before = Number.POSITIVE_INFINITY, file, kind }: ChangeFilter): Promise<readonly FileChange[]> {
    await this.#exclusive(() => this.#settle());
    return withUndone(this.#journal.rows)
      .filter((row) => row.id < before && (file ?? row.file) === row.file && (kind ?? row.kind) === row.kind)
      .reverse()
      .slice(0, limit);
  }

  async get(id: number): Promise<FileChange> {
    await this.#exclusive(() => this.#settle());
    const found = withUndone(this.#journal.rows).find((row) => row.id === id);
    if (found) return found;
    throw new NotFoundError(`There is no change ${id}.`, { hint: "`rookery config changes` lists them." });
  }

  async textsOf({ before, after }: FileChange) {
    return { before: await this.#textOf(before), after: await this.#textOf(after) };
  }

  async #textOf(version: FileVersion | null): Promise<string | null | undefined> {
    const bytes = this.#texts.get(version);
    if (bytes === null || bytes === undefined) return bytes;
    try {
      return decode(bytes, "It");
    } catch {
      return undefined;
    }
  }

  async files(): Promise<readonly KeptFile[]> {
    const directories = [...this.#parts.roots().map(realOf), join(this.#home(), "people")];
    const found = await listKept(directories, (path) => this.#placeOf(path) !== undefined);
    return found.flatMap(({ path, bytes, changedAt }) => {
      const kind = this.#placeOf(path)?.kind;
      return kind === undefined || kind === "config" ? [] : [{ file: this.#fileOf(path), kind, bytes, changedAt }];
    });
  }

  async current(file: string): Promise<CurrentFile> {
    const path = this.#pathOf(file);
    const place = this.#placeOf(path);
    if (!place) {
      throw new InvalidInputError(`${file.slice(0, 200)} is not a file whose changes are kept.`, {
        hint: "Name a prompt file, a note, a skill or the configuration, such as workspace/MEMORY.md.",
      });
    }
    const bytes = await this.#contentAt(path, place);
    const text = bytes === null ? null : decode(bytes, file);
    return { ...place, file: this.#fileOf(path), text, version: bytes === null ? null : versionOf(bytes) };
  }

  async write(file: string, text: string | null, { by, why, expect }: Written): Promise<FileChange | undefined> {
    const current = await this.current(file);
    return this.#write(current, { path: join(current.root, current.name), after: text, by, why, expect });
  }

  async #write({ kind, root, name, version, isSkill }: CurrentFile, kept: Kept): Promise<FileChange | undefined> {
    const { after } = kept;
    if (isSkill) return this.#writeSkill(kept, version);
    if (kind === "config") this.#parts.checkConfig?.(after ?? "");
    const places = { workingDir: root };
    let id: number | undefined;
    const around = async (path: string, write: () => Promise<void>): Promise<void> => {
      id = await this.#around({ ...kept, path }, write);
    };
    if (after !== null) await writeInside(realDisk, places, name, after, { around });
    else if (version !== null) await removeInside(realDisk, places, name, { around });
    return id === undefined ? undefined : this.get(id);
  }

  /** A text that is not that of a skill is refused before anything is written. */
  async #writeSkill(kept: Kept, version: FileVersion | null): Promise<FileChange | undefined> {
    const { path, after } = kept;
    if (after === null && version === null) return undefined;
    const files = after === null ? null : filesIn(after);
    const id = await this.#around(kept, async () => {
      if (after === null || versionOf(after).sha256 !== version?.sha256)
        await replaceSkill(path, files, this.#parts.skillDisk);
    });
    return id === undefined ? undefined : this.get(id);
  }

  /** Of two requests for the same the second one finds that it was done. */
  undo(id: number, by: ChangeAuthor): Promise<FileChange> {
    return this.#queues.of("undo")(() => this.#undo(id, by));
  }

  async #undo(id: number, by: ChangeAuthor): Promise<FileChange> {
    const change = await this.get(id);
    const { file, before, after, state, undoneBy } = change;
    if (state !== "done") throw new ConflictError(`The change ${id} was not made, so there is nothing to undo.`);
    const current = await this.current(file);
    const [now, was] = [current.version?.sha256 ?? null, after?.sha256 ?? null];
    if (undoneBy !== undefined && now === (before?.sha256 ?? null)) return this.get(undoneBy);
    if (now !== was)
      throw new ConflictError(`${file} was changed after the change ${id}.`, { hint: await this.#later(change) });
    const text = await this.#textOf(before);
    if (text === undefined) {
      throw new ConflictError(`The content of ${file} before the change ${id} is not kept as text any more.`);
    }
    const path = join(current.root, current.name);
    const made = await this.#write(current, { path, after: text, by, why: `undo of ${id}`, undoes: id, expect: was });
    if (made) return made;
    throw new ConflictError(`${file} was changed after the change ${id}.`);
  }

  async #later({ id, file }: FileChange): Promise<string> {
    const later = (await this.list({ limit: 20, file })).filter((row) => row.id > id && row.state === "done");
    return later.length === 0
      ? "It was edited outside of this program. Edit it again, or write the version that you want."
      : `Undo the later changes first, the latest first: ${later.map((row) => row.id).join(", ")}.`;
  }

  async forget(person: string): Promise<void> {
    const directory = join(this.#home(), "people", personDirectory(person));
    await this.#exclusive(() => this.#prune((file) => isInside(directory, this.#pathOf(file))));
    await this.guard.forget(directory);
  }

  #placeOf(path: string): KeptPlace | undefined {
    const home = this.#home();
    const paths = { home, config: join(home, "rookery.json5"), people: join(home, "people") };
    return keptPlace(paths, this.#parts.roots().map(realOf), path);
  }

  #home(): string {
    return realOf(this.#parts.paths.home);
  }

  #fileOf(path: string): string {
    const home = this.#home();
    return isInside(home, path) ? relative(home, path) : path;
  }

  #pathOf(file: string): string {
    return isAbsolute(file) ? resolve(file) : resolve(this.#home(), file);
  }
}

const realOf = (path: string): string => {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
};
