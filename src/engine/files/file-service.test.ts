/** Files on a real store: what is kept once, what is refused, what is swept, and what happens when bytes and rows race. */
import { beforeEach, describe, expect, it } from "vitest";
import { virtualClock } from "../../../test/kit/clock.ts";
import { seededIds } from "../../../test/kit/ids.ts";
import { openMemoryStore } from "../../adapters/store/sqlite/open-store.ts";
import type { AgentId } from "../../core/ids.ts";
import type { PersonId } from "../../core/people/person.ts";
import type { Inspected } from "../../core/ports/file-inspector.ts";
import type { BlobStore } from "../../core/ports/ports.ts";
import type { Op } from "../../core/store/change.ts";
import type { Store } from "../../core/store/store.ts";
import { fileName } from "./file-name.ts";
import { FileService } from "./file-service.ts";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const ann = { person: "ann" as PersonId };
const bob = { person: "bob" as PersonId };

let store: Store;
let kept: Map<string, Uint8Array>;
let blobs: BlobStore;
let clock: ReturnType<typeof virtualClock>;
let inspected: number;
let limits = { maxBytes: 100, quotaBytes: 150, unusedMs: 1_000 };
let found: Inspected;

function service(more: Partial<BlobStore> = {}): FileService {
  return new FileService({
    ports: { store, ids: seededIds("files"), clock },
    blobs: { ...blobs, ...more },
    inspector: {
      inspect: async () => {
        inspected += 1;
        return found;
      },
    },
    limits: () => limits,
  });
}

beforeEach(() => {
  store = openMemoryStore();
  kept = new Map();
  blobs = {
    write: async (name, content) => {
      kept.set(name, typeof content === "string" ? bytes(content) : content);
      return name;
    },
    read: async (path) => kept.get(path),
    pathOf: (name) => name,
    remove: async (path) => void kept.delete(path),
  };
  clock = virtualClock();
  inspected = 0;
  limits = { maxBytes: 100, quotaBytes: 150, unusedMs: 1_000 };
  found = { mimeType: "text/plain", shown: { as: "reference" } };
});

/** The ops of every commit from now on. */
function recorded(): Op[] {
  const ops: Op[] = [];
  const commit = store.commit;
  store.commit = (change) => {
    ops.push(...change.ops);
    return commit(change);
  };
  return ops;
}

describe("storing", () => {
  it("stages exactly the bytes that are written, for a day, before they are written", async () => {
    const ops = recorded();
    const plain = await service().put({ data: bytes("a"), behalf: ann });
    found = { mimeType: "image/png", shown: { as: "image", mimeType: "image/jpeg", data: bytes("small") } };
    const shown = await service().put({ data: bytes("b"), behalf: ann });
    found = { mimeType: "image/png", shown: { as: "image", mimeType: "image/png" } };
    const same = await service().put({ data: bytes("c"), behalf: ann });
    const until = clock.now() + 24 * 3600_000;
    expect(ops.filter(({ op }) => op === "file.stage")).toEqual([
      { op: "file.stage", blobs: [plain.blob], until },
      { op: "file.stage", blobs: [shown.blob, `${shown.blob}-shown`], until },
      { op: "file.stage", blobs: [same.blob], until },
    ]);
    expect([...kept.keys()]).toEqual([plain.blob, shown.blob, `${shown.blob}-shown`, same.blob]);
    expect(shown.shown).toEqual({ as: "image", blob: `${shown.blob}-shown`, mimeType: "image/jpeg" });
    expect(same.shown).toEqual({ as: "image", blob: same.blob, mimeType: "image/png" });
    expect(plain.blob).toMatch(new RegExp(`^blob-${plain.sha.slice(0, 16)}-`));
    expect(plain).toMatchObject({
      size: 1,
      name: "file",
      createdAt: clock.now(),
      sha: expect.stringMatching(/^\w{64}$/),
    });
  });

  it("names a file by its person, content and name", async () => {
    const files = service();
    const put = async (data: string, name: string, behalf = ann) =>
      (await files.put({ data: bytes(data), name, behalf })).id;
    const id = await put("s", "n");
    expect(id).toMatch(/^file_[0-9a-f]{32}$/);
    expect(new Set([id, await put("s", "n", bob), await put("t", "n"), await put("s", "m")]).size).toBe(4);
    expect(await put("s", "n")).toBe(id);
  });

  it("keeps a file with the mark of untrusted text apart from an equal one without", async () => {
    const files = service();
    const given = { data: bytes("hello"), name: "a.txt", behalf: ann } as const;
    const typed = await files.put({ ...given, from: "behalf" });
    const sent = await files.put(given);
    expect([typed.behalf, sent.behalf]).toEqual([ann, { ...ann, untrusted: true }]);
    expect(await files.put({ ...given, from: "behalf" })).toEqual(typed);
  });

  it("keeps the same content once, whoever stores it, and the same file of a person once", async () => {
    const files = service();
    const first = await files.put({ data: bytes("hello"), name: "a.txt", behalf: ann });
    expect(await files.put({ data: bytes("hello"), name: "a.txt", behalf: ann })).toEqual(first);
    const other = await files.put({ data: bytes("hello"), name: "b.txt", behalf: bob });
    expect(other).toMatchObject({ blob: first.blob, sha: first.sha, name: "b.txt", behalf: bob });
    expect(other.id).not.toBe(first.id);
    expect({ inspected, blobs: kept.size }).toEqual({ inspected: 1, blobs: 1 });
    expect(await files.read(first)).toEqual(bytes("hello"));
    await files.remove(first.id, "ann");
    await files.sweep();
    expect(await files.read(other)).toEqual(bytes("hello"));
  });

  it("keeps what the model is shown beside it", async () => {
    found = { mimeType: "application/pdf", shown: { as: "text", characters: 4, of: "pdf", data: bytes("text") } };
    const file = await service().put({ data: bytes("%PDF"), name: "a.pdf", behalf: ann });
    expect(file).toMatchObject({ mimeType: "application/pdf", shown: { as: "text", characters: 4, of: "pdf" } });
    expect(kept.get(file.shown.as === "text" ? file.shown.blob : "")).toEqual(bytes("text"));
  });

  it("refuses a file that is too large, and one beyond the quota, before any bytes are written", async () => {
    const files = service();
    const big = files.put({ data: new Uint8Array(101), behalf: ann });
    await expect(big).rejects.toMatchObject({ code: "too_large", message: expect.stringContaining("at most 100") });
    await files.put({ data: new Uint8Array(100), behalf: ann });
    const more = files.put({ data: new Uint8Array(51), behalf: ann });
    await expect(more).rejects.toMatchObject({ code: "too_large", message: expect.stringContaining("100 of 150") });
    expect(kept.size).toBe(1);
    await files.put({ data: new Uint8Array(51), behalf: bob });
  });

  it("never exceeds the quota when uploads race", async () => {
    const files = service();
    const all = await Promise.allSettled(
      Array.from({ length: 10 }, (_, n) => files.put({ data: bytes(`${n}`.repeat(50)), behalf: ann })),
    );
    expect(all.filter(({ status }) => status === "fulfilled")).toHaveLength(3);
    expect(await files.used("ann")).toBe(150);
  });

  it("gives another person's file and a missing one the same error", async () => {
    const files = service();
    const { id } = await files.put({ data: bytes("secret"), behalf: ann });
    const [other, none] = [await failed(files.get(id, "bob")), await failed(files.get("file_none", "bob"))];
    expect(other.replace(id, "X")).toBe(none.replace("file_none", "X"));
    await expect(files.remove(id, "bob")).rejects.toMatchObject({ code: "not_found" });
    expect(await files.get(id, "ann")).toMatchObject({ id });
  });
});

const failed = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => "",
    (error) => String(error),
  );

describe("bytes and rows", () => {
  it("acknowledges no file whose bytes could not be written", async () => {
    const broken = service({ write: async () => Promise.reject(new Error("disk")) });
    await expect(broken.put({ data: bytes("x"), behalf: ann })).rejects.toThrow("disk");
    expect(await store.files({ limit: 5 })).toEqual([]);
  });

  it("acknowledges no file that cannot be shown to the model", async () => {
    found = { mimeType: "image/png", shown: { as: "image", mimeType: "image/jpeg", data: bytes("small") } };
    const write: BlobStore["write"] = (name, content) =>
      name.endsWith("-shown") ? Promise.reject(new Error("disk")) : blobs.write(name, content);
    await expect(service({ write }).put({ data: bytes("x"), behalf: ann })).rejects.toThrow("disk");
    expect(await store.files({ limit: 5 })).toEqual([]);
  });

  it("sweeps portion after portion", async () => {
    const sweeps: unknown[] = [];
    store.commit = async ({ ops: [op] }) => {
      if (op?.op === "file.sweep") sweeps.push(op.after);
      const next = sweeps.length < 3 ? `f${sweeps.length}` : undefined;
      return { ok: true, results: [{ op: "file.sweep", removed: 1, blobs: [], next } as never] };
    };
    expect(await service().sweep()).toBe(3);
    expect(sweeps).toEqual([undefined, "f1", "f2"]);
  });

  it("removes the bytes of an upload that ended between bytes and row, after a day", async () => {
    const dies = service({
      write: async (name, content) => {
        await blobs.write(name, content);
        throw new Error("killed");
      },
    });
    await failed(dies.put({ data: bytes("x"), behalf: ann }));
    expect(kept.size).toBe(1);
    await service().sweep();
    expect(kept.size).toBe(1);
    clock.jump(25 * 3600_000);
    await service().sweep();
    expect(kept.size).toBe(0);
  });

  it("stores new bytes if a sweep dooms the old ones while the same content is stored again", async () => {
    const files = service();
    const first = await files.put({ data: bytes("x"), behalf: ann });
    clock.jump(2_000);
    // The sweep has committed and is about to delete the bytes when the same content is stored again.
    let again: Promise<unknown> = Promise.resolve();
    const sweeping = service({
      remove: async (path) => {
        again = files.put({ data: bytes("x"), behalf: bob });
        await again;
        kept.delete(path);
      },
    });
    await sweeping.sweep();
    const [now] = await store.files({ limit: 5 });
    expect(now?.behalf).toMatchObject(bob);
    expect(now?.blob).not.toBe(first.blob);
    expect(now && (await files.read(now))).toEqual(bytes("x"));
  });

  it("forgets bytes that a sweep has deleted, and pauses after each portion", async () => {
    const files = service();
    await files.put({ data: bytes("x"), behalf: ann });
    clock.jump(1_000);
    const ops = recorded();
    let pauses = 0;
    const pause = async (): Promise<void> => {
      pauses += 1;
    };
    expect(await files.sweep(pause)).toBe(0);
    clock.jump(1);
    expect(await files.sweep(pause)).toBe(1);
    expect([kept.size, pauses]).toEqual([0, 2]);
    expect(ops.map(({ op }) => op)).toEqual(["file.sweep", "file.sweep", "file.gone"]);
    expect(ops[2]).toMatchObject({ blobs: [expect.stringContaining("blob-")] });
  });

  it("removes all files of a person with all their bytes, however many there are", async () => {
    limits = { ...limits, quotaBytes: 1_000 };
    const files = service();
    for (let n = 0; n < 101; n++) await files.put({ data: bytes(`${n}`), behalf: ann });
    const other = await files.put({ data: bytes("b"), behalf: bob });
    expect(await files.removeAll("ann")).toBe(101);
    expect(kept.size).toBe(102);
    expect(await files.sweep()).toBe(0);
    expect([...kept.keys()]).toEqual([other.blob]);
  });

  it.each([
    ["refuses to sweep", "file.sweep", 1],
    ["does not forget the bytes", "file.gone", 2],
  ])("ends a sweep if the store %s, and does not turn round", async (_title, refused, commits) => {
    const swept = { op: "file.sweep", removed: 1, blobs: Array.from({ length: 100 }, (_, n) => `b${n}`) };
    const seen: string[] = [];
    store.commit = async ({ ops: [op] }) => {
      seen.push(op?.op ?? "");
      if (seen.length > 9) throw new TypeError("the sweep does not end");
      return op?.op === refused
        ? { ok: false, refused: "conflict", detail: "no" }
        : { ok: true, results: [swept as never] };
    };
    expect(await service().sweep()).toBe(refused === "file.gone" ? 1 : 0);
    expect(seen).toHaveLength(commits);
  });

  it("continues a sweep that died before it deleted the bytes", async () => {
    const files = service();
    await files.put({ data: bytes("x"), behalf: ann });
    clock.jump(2_000);
    await failed(service({ remove: async () => Promise.reject(new Error("killed")) }).sweep());
    expect([(await store.files({ limit: 5 })).length, kept.size]).toEqual([0, 1]);
    await service().sweep();
    expect(kept.size).toBe(0);
  });

  it("says that a file is gone if someone else removed it a moment before, and counts only what it removed itself", async () => {
    const files = service();
    const { id } = await files.put({ data: bytes("x"), behalf: ann });
    await files.put({ data: bytes("y"), behalf: ann });
    const commit = store.commit;
    store.commit = async (change) => {
      store.commit = commit;
      const first = await commit({ ...change, id: seededIds("first").change() });
      expect(first.ok).toBe(true);
      return commit(change);
    };
    expect(await failed(files.remove(id, "ann"))).toContain("There is no file");
    expect(await files.list({ person: "ann", limit: 5 })).toHaveLength(1);
    expect(await files.removeAll("ann")).toBe(1);
    expect(await files.removeAll("ann")).toBe(0);
  });

  it("refuses to refer to a file of someone else or without an owner", async () => {
    const { id } = await service().put({ data: bytes("x"), behalf: ann });
    const hold = (file: string, person: string) =>
      store.commit({
        id: seededIds(`${file}${person}`).change(),
        site: "test",
        at: 1,
        ops: [{ op: "file.hold", files: [file], by: { agentId: "none" as AgentId }, person }],
      });
    expect(await hold(id, "bob")).toMatchObject({ ok: false, refused: "missing" });
  });
});

it.each([
  ["../../etc/passwd", "passwd"],
  ["C:\\temp\\a.txt", "a.txt"],
  ["a\r\nX: y", "aX: y"],
  ["..", "file"],
  ["", "file"],
  ["\u202Egnp.exe", "gnp.exe"],
])("the name %j becomes %j", (given, name) => expect(fileName(given)).toBe(name));
