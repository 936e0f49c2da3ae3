/**
 * Stores files of people: bytes first, then the row that names them. Blobs are staged before they are written and are never used
 * again once they are doomed, so a crash at any point loses no file that was acknowledged and leaks no bytes.
 */
import { createHash } from "node:crypto";
import { InvariantError, NotFoundError, TooLargeError } from "../../core/errors.ts";
import type { ShownFile, StoredFile } from "../../core/message/stored-file.ts";
import { type Behalf, isUntrusted } from "../../core/people/behalf.ts";
import type { FileInspector, ShownContent } from "../../core/ports/file-inspector.ts";
import type { BlobStore, Ports } from "../../core/ports/ports.ts";
import { submit } from "../commit/submit.ts";
import { fileName } from "./file-name.ts";

interface FileLimits {
  /** Of one file. */
  readonly maxBytes: number;
  /** Of all files of one person. */
  readonly quotaBytes: number;
  /** How long a file is kept that nothing refers to. */
  readonly unusedMs: number;
}

interface FileServiceDeps {
  readonly ports: Pick<Ports, "store" | "ids" | "clock">;
  readonly blobs: BlobStore;
  readonly inspector: FileInspector;
  /** Read at each use: a reload may change them. */
  readonly limits: () => FileLimits;
}

interface NewFile {
  readonly data: Uint8Array;
  readonly name?: string;
  readonly behalf: Behalf;
  /** Who wrote it: those of `behalf`, or someone else. Default: someone else, so that it has the mark of untrusted text (M32). */
  readonly from?: "behalf" | "elsewhere";
}

/** An upload that takes longer than this is given up: its bytes are removed, and its row is refused. */
const STAGED_MS = 24 * 3600_000;
const PORTION = 100;
const TRIES = 5;

const sha256 = (data: Uint8Array | string): string => createHash("sha256").update(data).digest("hex");

/**
 * The same content under the same name is the same file of its person, however often it is stored. With the mark of untrusted text it is
 * another one: none gets rid of its mark because an equal file has none.
 */
function fileId(behalf: Behalf, sha: string, name: string): string {
  const mark = isUntrusted(behalf) ? ["untrusted"] : [];
  return `file_${sha256(JSON.stringify([behalf.person, sha, name, ...mark])).slice(0, 32)}`;
}

export class FileService {
  readonly #deps: FileServiceDeps;

  constructor(deps: FileServiceDeps) {
    this.#deps = deps;
  }

  get limits(): FileLimits {
    return this.#deps.limits();
  }

  /** Durable when it resolves. Rejects with `TooLargeError` if the file or the person's quota is exceeded. */
  async put({ data, name: given, behalf: own, from = "elsewhere" }: NewFile): Promise<StoredFile> {
    const { store, clock } = this.#deps.ports;
    const behalf: Behalf = from === "behalf" ? own : { ...own, untrusted: true };
    const { maxBytes } = this.limits;
    if (data.length > maxBytes) throw tooLarge(data.length, maxBytes);
    const [sha, name] = [sha256(data), fileName(given)];
    const id = fileId(behalf, sha, name);
    for (let tries = 0; tries < TRIES; tries++) {
      const known = await store.file(id);
      if (known) return known;
      this.#assertRoom(await store.fileBytes(behalf.person), data.length);
      const row = { id, name, behalf, createdAt: clock.now() };
      const twin = await store.fileBySha(sha);
      const file = twin ? { ...twin, ...row } : { ...(await this.#keep(data, sha, name)), ...row };
      if (await this.#commit(file)) return file;
    }
    throw new InvariantError("The file was not stored: its bytes were removed again and again.");
  }

  /** The same file as one of another person: its bytes are not stored again. */
  async share(file: StoredFile, behalf: Behalf): Promise<StoredFile> {
    const { store, clock } = this.#deps.ports;
    if (file.behalf.person === behalf.person) return file;
    // What led to its content goes with it (M30, M32).
    const marked: Behalf = isUntrusted(file.behalf) ? { ...behalf, untrusted: true } : behalf;
    const id = fileId(marked, file.sha, file.name);
    for (let tries = 0; tries < TRIES; tries++) {
      const known = await store.file(id);
      if (known) return known;
      const from = await this.get(file.id);
      const own = { ...from, id, behalf: marked, createdAt: clock.now() };
      if (await this.#commit(own)) return own;
    }
    throw noFile(file.id);
  }

  /** False if its bytes are gone, or if the same file was stored at the same moment: look again. */
  async #commit(file: StoredFile): Promise<boolean> {
    const result = await submit(this.#deps.ports, "file.put", [
      { op: "file.put", file, quota: this.limits.quotaBytes },
    ]);
    if (!result.ok) return false;
    const [put] = result.results;
    if (put?.op !== "file.put") throw new InvariantError("The store did not say whether it stored the file.");
    if (put.status === "full") this.#assertRoom(put.used, file.size);
    return put.status === "stored";
  }

  #assertRoom(used: number, more: number): void {
    const { quotaBytes } = this.limits;
    if (used + more <= quotaBytes) return;
    throw new TooLargeError(`Your files are full: ${used} of ${quotaBytes} bytes are used, and this one has ${more}.`, {
      hint: "Remove files that are not needed, or ask the owner to raise files.quotaBytes.",
    });
  }

  /** Writes the bytes, and those that the model is shown. No row names them yet. */
  async #keep(
    data: Uint8Array,
    sha: string,
    name: string,
  ): Promise<Omit<StoredFile, "id" | "name" | "behalf" | "createdAt">> {
    const { ports, blobs, inspector } = this.#deps;
    const { mimeType, shown } = await inspector.inspect(data, name);
    const blob = `blob-${sha.slice(0, 16)}-${ports.ids.uuid()}`;
    const shownData = shown.as === "reference" ? undefined : shown.data;
    const all = shownData ? [blob, `${blob}-shown`] : [blob];
    const staged = await submit(ports, "file.stage", [
      { op: "file.stage", blobs: all, until: ports.clock.now() + STAGED_MS },
    ]);
    if (!staged.ok) throw new InvariantError(`The file was not stored: ${staged.detail}`);
    await blobs.write(blob, data);
    if (shownData) await blobs.write(`${blob}-shown`, shownData);
    return { sha, mimeType, size: data.length, blob, shown: shownAs(shown, shownData ? `${blob}-shown` : blob) };
  }

  /** Undefined if there is none. */
  find(id: string): Promise<StoredFile | undefined> {
    return this.#deps.ports.store.file(id);
  }

  /** A file of this person; of anyone if none is named. Rejects with the same error if it is another's. */
  async get(id: string, person?: string): Promise<StoredFile> {
    const file = await this.#deps.ports.store.file(id);
    if (!file || (person !== undefined && file.behalf.person !== person)) throw noFile(id);
    return file;
  }

  list(page: { readonly person: string; readonly after?: string; readonly limit: number }) {
    return this.#deps.ports.store.files(page);
  }

  used(person: string): Promise<number> {
    return this.#deps.ports.store.fileBytes(person);
  }

  /** Undefined if the bytes are missing. */
  read({ blob }: Pick<StoredFile, "blob">): Promise<Uint8Array | undefined> {
    return this.#deps.blobs.read(this.#deps.blobs.pathOf(blob));
  }

  /** Whoever referred to it sees a placeholder from now on. */
  async remove(id: string, person: string): Promise<void> {
    await this.get(id, person);
    const result = await submit(this.#deps.ports, "file.remove", [{ op: "file.remove", id }]);
    if (!result.ok) throw noFile(id);
  }

  /** Removes all files of a person, one commit each: a crash in between leaves the rest for the next try. Returns how many. */
  async removeAll(person: string): Promise<number> {
    let removed = 0;
    for (;;) {
      const page = await this.list({ person, limit: PORTION });
      for (const { id } of page) {
        const result = await submit(this.#deps.ports, "file.remove", [{ op: "file.remove", id }]);
        if (result.ok) removed += 1;
      }
      if (page.length < PORTION) return removed;
    }
  }

  /** One pass over all files. Removes those that nothing refers to, and all bytes that no row names. Returns how many files. */
  async sweep(pause: () => Promise<void> = async () => {}): Promise<number> {
    const { ports, blobs } = this.#deps;
    let removed = 0;
    for (let after: string | undefined; ; ) {
      const before = ports.clock.now() - this.limits.unusedMs;
      const result = await submit(ports, "file.sweep", [{ op: "file.sweep", before, limit: PORTION, after }]);
      const [swept] = result.ok ? result.results : [];
      if (swept?.op !== "file.sweep") return removed;
      removed += swept.removed;
      for (const blob of swept.blobs) await blobs.remove(blobs.pathOf(blob));
      const isGone = swept.blobs.length > 0 && (await this.#forget(swept.blobs));
      await pause();
      // A portion of files may leave more bytes behind than a portion has.
      if (swept.next === undefined && !(isGone && swept.blobs.length === PORTION)) return removed;
      after = swept.next ?? after;
    }
  }

  async #forget(blobs: readonly string[]): Promise<boolean> {
    return (await submit(this.#deps.ports, "file.gone", [{ op: "file.gone", blobs }])).ok;
  }
}

function shownAs(shown: ShownContent, blob: string): ShownFile {
  switch (shown.as) {
    case "reference":
      return { as: "reference", why: shown.why, pages: shown.pages };
    case "image":
      return { as: "image", blob, mimeType: shown.mimeType };
    case "text":
      return { as: "text", blob, characters: shown.characters, of: shown.of, cut: shown.cut, pages: shown.pages };
  }
}

const tooLarge = (size: number, maxBytes: number): TooLargeError =>
  new TooLargeError(`The file has ${size} bytes, at most ${maxBytes} are accepted.`, {
    hint: "The owner can raise files.maxBytes in the configuration.",
  });

export const noFile = (id: string): NotFoundError =>
  new NotFoundError(`There is no file ${id.slice(0, 100)}.`, { hint: "Upload it first, or check its id." });
