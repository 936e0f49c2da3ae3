/** Plain files of a shared database, written by a node that was told to. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { silentLog } from "../../src/core/log.ts";
import { followShared } from "../../src/store/plain-files/follow-shared.ts";
import { openPostgresStore } from "../../src/store/postgres/open-store.ts";
import { postOp, userBody, worldOn } from "../contract/fixture.ts";
import { freshDatabase } from "./shared.ts";

test("what is committed by any node is in the files, and goes on after a restart", async () => {
  const url = await freshDatabase();
  const home = mkdtempSync(join(tmpdir(), "rookery-mirror-"));
  const [store, other] = [await openPostgresStore({ url }), await openPostgresStore({ url })];
  const world = await worldOn(other);
  const a = await world.agent("a");
  const read = (name: string): string => readFileSync(join(home, "agents", a.id, name), "utf8");
  const append = async (position: number, text: string) => {
    const lines = [JSON.stringify({ type: "custom", id: `e${position}`, text })];
    await world.done([{ op: "entries.append", position, lines, leaf: `e${position}` as never }], a.owner);
  };
  const mirror = await followShared({ home, store, log: silentLog, everyMs: 3_600_000 });
  await mirror.flush();
  expect(read("history.jsonl").trimEnd().split("\n")).toHaveLength(2);
  await append(2, "third");
  const dedupe = { key: "test||a|m1|", keepUntil: 9e12 };
  await world.done([
    {
      ...postOp({ agentId: a.id }, userBody("hi"), 5, { dedupe }),
      message: { body: userBody("hi"), source: { connector: "test", channelId: "a", messageId: "m1" }, acceptedAt: 5 },
    } as never,
  ]);
  await mirror.flush();
  expect(read("history.jsonl").trimEnd().split("\n").at(-1)).toContain("third");
  expect(JSON.parse(read("pending.json"))).toMatchObject({
    nextSeq: 2,
    nextPos: 3,
    messages: [{ seq: 1, state: "waiting", message: { body: userBody("hi") } }],
  });
  await mirror.stop();
  await append(3, "while nobody looked");
  const again = await followShared({ home, store, log: silentLog, everyMs: 3_600_000 });
  await again.flush();
  expect(read("history.jsonl").trimEnd().split("\n")).toHaveLength(4);
  expect(JSON.parse(read("descriptor.json"))).toMatchObject({ type: "user", userId: "a" });
  expect(JSON.parse(read("state.json"))).toMatchObject({ version: 1 });
  await again.stop();
  await store.close();
  await other.close();
  rmSync(home, { recursive: true });
});
