/** A file that becomes one of another person's too: its bytes are kept once, and what led to its content goes with it. */
import { describe, expect, it } from "vitest";
import { virtualClock } from "../../../test/kit/clock.ts";
import { seededIds } from "../../../test/kit/ids.ts";
import { openMemoryStore } from "../../adapters/store/sqlite/open-store.ts";
import type { PersonId } from "../../core/people/person.ts";
import type { BlobStore } from "../../core/ports/ports.ts";
import type { Change } from "../../core/store/change.ts";
import { FileService } from "./file-service.ts";

const ann = { person: "ann" as PersonId };
const bob = { person: "bob" as PersonId };
const blobs: BlobStore = {
  ...{ write: async (name) => name, read: async () => undefined, pathOf: (name) => name, remove: async () => {} },
};
const data = new TextEncoder().encode("hello");

/** `refuse`: how many commits of files the store refuses first. */
function world(quotaBytes = 150) {
  const store = openMemoryStore();
  const commit = store.commit;
  const state = { refuse: 0, tried: 0, inspected: 0 };
  store.commit = async (change: Change) => {
    if (change.site !== "file.put") return commit(change);
    state.tried += 1;
    if (state.tried <= state.refuse) return { ok: false, refused: "conflict", detail: "once more" };
    return commit(change);
  };
  const clock = virtualClock();
  const files = new FileService({
    ports: { store, ids: seededIds("files"), clock },
    blobs,
    inspector: {
      inspect: async () => {
        state.inspected += 1;
        return { mimeType: "text/plain", shown: { as: "reference" } };
      },
    },
    limits: () => ({ maxBytes: 100, quotaBytes, unusedMs: 1_000 }),
  });
  return { store, clock, files, state };
}

describe("sharing a file", () => {
  it("makes a row of the other person with the same bytes, once", async () => {
    const { files, clock, state, store } = world();
    const own = await files.put({ data, name: "a.txt", behalf: ann });
    expect(await files.share(own, ann)).toBe(own);
    await clock.advance(5, async () => {});
    const shared = await files.share(own, bob);
    expect(shared).toMatchObject({ blob: own.blob, sha: own.sha, name: "a.txt", behalf: bob });
    expect(shared.createdAt).toBe(own.createdAt + 5);
    expect(shared.id).not.toBe(own.id);
    await clock.advance(5, async () => {});
    expect(await files.share(own, bob)).toEqual(shared);
    expect(await store.file(shared.id)).toEqual(shared);
    expect([state.inspected, state.tried]).toEqual([1, 2]);
    expect(await store.fileBytes(bob.person)).toBe(data.length);
  });

  it("takes the mark of untrusted text along, and sets none of its own", async () => {
    const { files } = world();
    const marked = await files.put({ data, name: "a.txt", behalf: { ...ann, untrusted: true }, from: "behalf" });
    expect((await files.share(marked, bob)).behalf).toEqual({ ...bob, untrusted: true });
    const plain = await files.put({ data, name: "a.txt", behalf: ann, from: "behalf" });
    expect((await files.share(plain, bob)).behalf).toEqual(bob);
  });

  it("of a file that is gone says that there is none", async () => {
    const { files } = world();
    const own = await files.put({ data, name: "a.txt", behalf: ann });
    await files.remove(own.id, "ann");
    await expect(files.share(own, bob)).rejects.toMatchObject({ code: "not_found" });
  });

  it("counts for the other person's room", async () => {
    const { files } = world(8);
    const own = await files.put({ data, name: "a.txt", behalf: ann });
    await files.put({ data: new TextEncoder().encode("more"), name: "b.txt", behalf: bob });
    await expect(files.share(own, bob)).rejects.toThrow("Your files are full: 4 of 8 bytes are used");
  });
});

describe("a file whose bytes are removed at the same moment", () => {
  it.each([4, 5])("is tried five times: %d refusals", async (refuse) => {
    const { files, state, store } = world();
    const own = await files.put({ data, name: "a.txt", behalf: ann });
    for (const kept of [
      () => files.share(own, bob),
      () => files.put({ data: new TextEncoder().encode("new"), name: "b.txt", behalf: ann }),
    ]) {
      Object.assign(state, { tried: 0, refuse });
      if (refuse === 5) await expect(kept()).rejects.toBeInstanceOf(Error);
      else expect(await store.file((await kept()).id)).toBeDefined();
      expect(state.tried).toBe(5);
    }
  });
});
