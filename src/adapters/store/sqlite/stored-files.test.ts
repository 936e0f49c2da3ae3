/** Who keeps a stored file, as the plain files show it and as a sweep decides. */
import { expect, test } from "vitest";
import { idOf, START } from "../../../app/testing/store-world.ts";
import type { DeliveryId } from "../../../core/ids.ts";
import type { StoredFile } from "../../../core/message/stored-file.ts";
import type { PersonId } from "../../../core/people/person.ts";
import type { Op } from "../../../core/store/change.ts";
import { memoryWorld } from "./memory-world.test-kit.ts";
import { allFiles, writeHold } from "./stored-files.ts";

const FAR = START * 2;
const file = (id: string, text = `text-${id}`): StoredFile => ({
  ...{ id, sha: id.padStart(64, "0"), name: id, mimeType: "application/pdf", size: 5, blob: `blob-${id}` },
  ...{ behalf: { person: "ann" as PersonId }, createdAt: START },
  shown: { as: "text", blob: text, characters: 3, of: "pdf" },
});
const put = (one: StoredFile): Op => ({ op: "file.put", file: one, quota: 1_000 });
const stage = (...blobs: readonly string[]): Op => ({ op: "file.stage", blobs, until: FAR });
const sweep: Op = { op: "file.sweep", before: FAR, limit: 9 };

async function stored(...ids: readonly string[]) {
  const { world, db } = await memoryWorld();
  for (const id of ids) await world.done([stage(`blob-${id}`, `text-${id}`), put(file(id))]);
  return { world, db };
}

test("each file is listed with all of its holders, in order, and one without any too", async () => {
  const { db } = await stored("1", "2", "3");
  expect(allFiles(db).map(({ holders }) => holders)).toEqual([[], [], []]);
  for (const holder of ["delivery:d", "agent:b", "agent:a", "agent:a"]) writeHold(db, "2", holder);
  writeHold(db, "3", "agent:c");
  expect(allFiles(db)).toEqual([
    { file: file("1"), holders: [] },
    { file: file("2"), holders: ["agent:a", "agent:b", "delivery:d"] },
    { file: file("3"), holders: ["agent:c"] },
  ]);
  db.close();
});

test("a sweep keeps what an agent with a history or a delivery holds, and nothing of those that are gone", async () => {
  const ids = ["agent", "delivery", "both", "none", "unknown", "removed", "gone"];
  const { world, db } = await stored(...ids);
  const [a, removed] = [await world.agent("a"), await world.agent("removed")];
  const delivery = { id: "d" as DeliveryId, agentId: a.id, target: { channel: "test", to: "a" }, createdAt: START };
  await world.done([{ op: "delivery.add", delivery: { ...delivery, payload: { text: "x" } } }], a.owner);
  const holds: readonly (readonly [string, string])[] = [
    ["agent", `agent:${a.id}`],
    ["delivery", "delivery:d"],
    ["both", "delivery:none"],
    ["both", `agent:${a.id}`],
    ["unknown", `agent:${idOf("never")}`],
    ["removed", `agent:${removed.id}`],
    ["gone", "delivery:none"],
  ];
  for (const [id, holder] of holds) writeHold(db, id, holder);
  await world.done([{ op: "agent.remove", agentId: removed.id, reason: "x" }]);
  expect(await world.done([sweep])).toMatchObject([{ removed: 4 }]);
  expect(allFiles(db).map((one) => one.file.id)).toEqual(["agent", "both", "delivery"]);
  // The holds of a file go with it.
  expect(db.all<{ file: string }>("SELECT DISTINCT file FROM file_holds ORDER BY file").map((one) => one.file)).toEqual(
    ["agent", "both", "delivery"],
  );
  db.close();
});

test("bytes go with the last file that uses them, as its own or as what is shown of it", async () => {
  const { world, db } = await memoryWorld();
  await world.done([stage("blob-1", "blob-2", "text", "blob-3", "staged")]);
  await world.done([put(file("1", "text")), put(file("2", "text")), put({ ...file("3"), shown: { as: "reference" } })]);
  const doomed = (): readonly string[] =>
    db.all<{ blob: string }>("SELECT blob FROM blob_trash WHERE doomed = 1 ORDER BY blob").map(({ blob }) => blob);
  await world.done([{ op: "file.remove", id: "1" }]);
  expect(doomed()).toEqual(["blob-1"]);
  await world.done([{ op: "file.remove", id: "3" }]);
  expect(doomed()).toEqual(["blob-1", "blob-3"]);
  await world.done([{ op: "file.remove", id: "2" }]);
  expect(doomed()).toEqual(["blob-1", "blob-2", "blob-3", "text"]);
  const at = world.now;
  expect(db.all("SELECT DISTINCT due_at FROM blob_trash WHERE doomed = 1 ORDER BY due_at DESC")).toEqual([
    { due_at: at - 1 },
    { due_at: at - 2 },
    { due_at: at - 3 },
  ]);
  await world.done([{ op: "file.gone", blobs: ["blob-2", "staged"] }]);
  expect(doomed()).toEqual(["blob-1", "blob-3", "text"]);
  // What is only staged is not gone.
  expect(db.all("SELECT blob FROM blob_trash WHERE doomed = 0")).toEqual([{ blob: "staged" }]);
  db.close();
});
