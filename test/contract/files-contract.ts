/** Files: rows that name only blobs that are kept, who refers to them, quotas, and the sweep. */
import { expect } from "vitest";
import type { DeliveryId } from "../../src/core/ids.ts";
import type { StoredFile } from "../../src/core/message/stored-file.ts";
import type { PersonId } from "../../src/core/people/person.ts";
import type { Op, OpResult } from "../../src/core/store/change.ts";
import { keyOf, type Opener, postOp, START, storeTest, userBody, type World } from "./fixture.ts";

const sha = (n: number): string => String(n).padStart(64, "0");

const fileOf = (id: string, rest: Partial<StoredFile> & { person?: string } = {}): StoredFile => {
  const { person = "ann", ...more } = rest;
  return {
    id,
    sha: sha(1),
    name: `${id}.txt`,
    mimeType: "text/plain",
    size: 10,
    blob: `blob-${id}`,
    behalf: { person: person as PersonId },
    createdAt: START,
    shown: { as: "reference" },
    ...more,
  };
};

const QUOTA = 1_000;
const put = (file: StoredFile, quota = QUOTA): Op => ({ op: "file.put", file, quota });
const stage = (...blobs: string[]): Op => ({ op: "file.stage", blobs, until: START + 1_000_000 });
const stored = (world: World, file: StoredFile) => world.done([stage(file.blob), put(file)]);
const LATER = START + 500_000;

async function sweep(world: World, after?: string, limit = 100): Promise<Extract<OpResult, { op: "file.sweep" }>> {
  const [result] = await world.done([{ op: "file.sweep", before: LATER, limit, after }]);
  if (result?.op !== "file.sweep") throw new Error("Not swept.");
  return result;
}

export function filesContract(open: Opener): void {
  storeTest("a file is stored once, found by id and by content, listed by person and removed", open, async (world) => {
    const { store } = world;
    const file = fileOf("a", { shown: { as: "text", blob: "text-a", characters: 3, of: "pdf" } });
    const [, first] = await world.done([stage("blob-a", "text-a"), put(file)]);
    expect(first).toEqual({ op: "file.put", status: "stored", used: 10 });
    expect(await world.done([put(file)])).toEqual([{ op: "file.put", status: "exists", used: 10 }]);
    expect(await store.file("a")).toEqual(file);
    expect(await store.fileBySha(sha(1))).toEqual(file);
    await stored(world, fileOf("b", { person: "bob", sha: sha(2) }));
    expect((await store.files({ limit: 10 })).map(({ id }) => id)).toEqual(["a", "b"]);
    expect((await store.files({ limit: 10, person: "bob" })).map(({ id }) => id)).toEqual(["b"]);
    expect((await store.files({ limit: 10, after: "a" })).map(({ id }) => id)).toEqual(["b"]);
    expect(await store.fileBytes("ann")).toBe(10);
    await world.done([{ op: "file.remove", id: "a" }]);
    expect(await store.file("a")).toBeUndefined();
    expect(await world.refused([{ op: "file.remove", id: "a" }])).toBe("missing");
    expect((await sweep(world)).blobs).toEqual(expect.arrayContaining(["blob-a", "text-a"]));
  });

  storeTest("a row names only bytes that are staged or belong to another file", open, async (world) => {
    expect(await world.refused([put(fileOf("a"))])).toBe("missing");
    await stored(world, fileOf("a"));
    await world.done([put(fileOf("b", { blob: "blob-a", person: "bob", createdAt: LATER }))]);
    await world.done([{ op: "file.remove", id: "a" }]);
    expect((await sweep(world)).blobs).toEqual([]);
    await world.done([{ op: "file.remove", id: "b" }]);
    expect((await sweep(world)).blobs).toEqual(["blob-a"]);
    // Its bytes may be deleted at this moment: no row may name it again.
    expect(await world.refused([put(fileOf("c", { blob: "blob-a" }))])).toBe("missing");
    expect((await sweep(world)).blobs).toEqual(["blob-a"]);
    await world.done([{ op: "file.gone", blobs: ["blob-a"] }]);
    expect((await sweep(world)).blobs).toEqual([]);
  });

  storeTest(
    "the bytes of an upload that never ended are swept, and cannot be named afterwards",
    open,
    async (world) => {
      await world.done([{ op: "file.stage", blobs: ["x", "y"], until: START + 100 }]);
      expect((await sweep(world)).blobs).toEqual([]);
      world.now = START + 200;
      expect([...(await sweep(world)).blobs].sort()).toEqual(["x", "y"]);
      expect(await world.refused([put(fileOf("a", { blob: "x" }))])).toBe("missing");
    },
  );

  storeTest("the text of a file is kept as long as another file shows it", open, async (world) => {
    const shown = { as: "text", blob: "text", characters: 3, of: "pdf" } as const;
    await world.done([stage("blob-a", "text"), put(fileOf("a", { shown }))]);
    await world.done([stage("blob-b"), put(fileOf("b", { sha: sha(2), shown }))]);
    await world.done([{ op: "file.remove", id: "a" }]);
    await world.done([{ op: "file.hold", files: ["b"], by: { agentId: (await world.agent("x")).id } }]);
    expect((await sweep(world)).blobs).toEqual(["blob-a"]);
    await world.done([{ op: "file.remove", id: "b" }]);
    expect((await sweep(world)).blobs).toEqual(expect.arrayContaining(["blob-b", "text"]));
    expect(await world.refused([put(fileOf("c", { blob: "text", sha: sha(3) }))])).toBe("missing");
  });

  storeTest(
    "a person's files stay within the quota, also when they are stored at the same time",
    open,
    async (world) => {
      const files = Array.from({ length: 20 }, (_, n) => fileOf(`f${n}`, { sha: sha(n), blob: `q${n}` }));
      await world.done([stage(...files.map(({ blob }) => blob))]);
      const all = await Promise.all(files.map((file) => world.done([put(file, 95)])));
      const statuses = all.map(([result]) => (result?.op === "file.put" ? result.status : undefined));
      expect(statuses.filter((status) => status === "stored")).toHaveLength(9);
      expect(statuses.filter((status) => status === "full")).toHaveLength(11);
      expect(await world.store.fileBytes("ann")).toBe(90);
      const [other] = await world
        .done([stage("bob"), put(fileOf("z", { person: "bob", blob: "bob" }), 95)])
        .then((r) => [r[1]]);
      expect(other).toMatchObject({ status: "stored", used: 10 });
    },
  );

  storeTest("a message is posted together with what it refers to, or not at all", open, async (world) => {
    await stored(world, fileOf("a"));
    const create = world.seed("ann");
    const to = { sessionKey: keyOf("ann") };
    const post = postOp({ ...to, create }, userBody("look"), world.now);
    const hold = (file: string, person?: string): Op => ({ op: "file.hold", files: [file], by: to, person });
    expect(await world.refused([post, hold("none")])).toBe("missing");
    expect(await world.refused([post, hold("a", "bob")])).toBe("missing");
    expect(await world.store.agentByKey(to.sessionKey)).toBeUndefined();
    expect(await world.refused([post, { op: "file.hold", files: ["a"], by: to, person: "bob", ifKept: true }])).toBe(
      "missing",
    );
    await world.done([post, { op: "file.hold", files: ["none"], by: to, ifKept: true }]);
    expect(await world.store.holdsFile(create.id, "none")).toBe(false);
    await world.done([post, hold("a", "ann")]);
    await world.done([hold("a", "ann")]);
    const agent = await world.store.agentByKey(to.sessionKey);
    expect(await world.store.holdsFile(create.id, "a")).toBe(true);
    expect(await world.store.holdsFile(create.id, "b")).toBe(false);
    expect(agent?.id).toBe(create.id);
  });

  storeTest("a message that comes again holds nothing more, and takes back no question", open, async (world) => {
    for (const id of ["a", "b"]) await stored(world, fileOf(id, { sha: sha(id.charCodeAt(0)) }));
    const agent = await world.agent("ann");
    const [to, dedupe] = [{ agentId: agent.id }, { key: "test:1", keepUntil: LATER }];
    const post = postOp(to, userBody("look"), world.now, { dedupe });
    const hold = (file: string): Op => ({ op: "file.hold", files: [file], by: to, person: "ann", ifPosted: true });
    const withdraw: Op = { op: "approval.withdraw", of: to, reason: "test", ifPosted: true };
    const [first, , withdrawn] = await world.done([post, hold("a"), withdraw]);
    expect([first, withdrawn]).toMatchObject([{ duplicate: false }, { withdrawn: 0 }]);
    const [again, , not] = await world.done([post, hold("b"), withdraw]);
    expect([again, not]).toMatchObject([{ duplicate: true }, undefined]);
    // Also if what it brought is no longer there.
    await world.done([post, hold("none")]);
    expect(await world.store.holdsFile(agent.id, "a")).toBe(true);
    expect(await world.store.holdsFile(agent.id, "b")).toBe(false);
    // What does not depend on the message is done all the same.
    await world.done([post, { ...hold("b"), ifPosted: undefined } as Op]);
    expect(await world.store.holdsFile(agent.id, "b")).toBe(true);
  });

  storeTest("the sweep leaves what an agent's history or a delivery refers to", open, async (world) => {
    for (const id of ["a", "b", "c", "d", "e"]) await stored(world, fileOf(id, { sha: sha(id.charCodeAt(0)) }));
    await stored(world, fileOf("new", { createdAt: LATER }));
    const [one, two, three] = [await world.agent("one"), await world.agent("two"), await world.agent("three")];
    const delivery = "run.1" as DeliveryId;
    await world.done([
      { op: "file.hold", files: ["a"], by: { agentId: one.id } },
      { op: "file.hold", files: ["b"], by: { agentId: two.id } },
      { op: "file.hold", files: ["c"], by: { agentId: three.id } },
      { op: "file.hold", files: ["d"], by: { delivery } },
    ]);
    const target = { channel: "test", to: "x" };
    const added = { id: delivery, agentId: one.id, target, payload: { text: "hi" }, createdAt: START };
    await world.done([{ op: "delivery.add", delivery: added }], one.owner);
    await world.done([{ op: "agent.remove", agentId: two.id, reason: "test" }]);
    await world.done([{ op: "agent.remove", agentId: three.id, reason: "test", keep: true }]);
    const swept = await sweep(world);
    expect(swept).toMatchObject({ removed: 2 });
    expect(swept.next).toBeUndefined();
    expect([...swept.blobs].sort()).toEqual(["blob-b", "blob-e"]);
    expect((await world.store.files({ limit: 10 })).map(({ id }) => id)).toEqual(["a", "c", "d", "new"]);
  });

  storeTest("the sweep goes through all files in bounded portions", open, async (world) => {
    for (const n of [1, 2, 3, 4, 5]) await stored(world, fileOf(`f${n}`, { sha: sha(n) }));
    let removed = 0;
    let portions = 0;
    let after: string | undefined;
    do {
      const portion = await sweep(world, after, 2);
      expect(portion.removed).toBeLessThanOrEqual(2);
      removed += portion.removed;
      portions += 1;
      after = portion.next;
    } while (after !== undefined);
    expect({ removed, portions }).toEqual({ removed: 5, portions: 3 });
  });
}
