/** Plain files of a shared database, written by a node with `--mirror`. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { followShared } from "../../src/adapters/store/files/follow-shared.ts";
import { openPostgresStore } from "../../src/adapters/store/postgres/open-store.ts";
import { silentLog } from "../../src/core/ports/log.ts";
import { CONVERSATIONS_FACT, RIGHTS_REVISION } from "../../src/core/store/change.ts";
import { keyOf, postOp, userBody, worldOn } from "../contract/fixture.ts";
import { withClient } from "./server.ts";
import { freshDatabase } from "./shared.ts";

test("commits of every node are in the files, also after a restart", async () => {
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
  await append(3, "while no mirror ran");
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

test("a flush has everything that was committed, also while a transaction of another program stays open", async () => {
  const url = await freshDatabase();
  const home = mkdtempSync(join(tmpdir(), "rookery-mirror-"));
  const store = await openPostgresStore({ url });
  const world = await worldOn(store);
  const a = await world.agent("a");
  const lines = () =>
    readFileSync(join(home, "agents", a.id, "history.jsonl"), "utf8")
      .trimEnd()
      .split("\n");
  const append = async (position: number) => {
    const line = JSON.stringify({ type: "custom", id: `e${position}` });
    await world.done([{ op: "entries.append", position, lines: [line], leaf: `e${position}` as never }], a.owner);
  };
  const mirror = await followShared({ home, store, log: silentLog, everyMs: 3_600_000 });
  await mirror.flush();
  await withClient(url, async (client) => {
    await client.query("BEGIN; SELECT pg_current_xact_id()");
    await append(2);
    await mirror.flush();
    expect(lines()).toHaveLength(3);
    await append(3);
    await mirror.flush();
    expect(lines()).toHaveLength(4);
    await client.query("COMMIT");
  });
  await append(4);
  await mirror.stop();
  expect(lines()).toHaveLength(5);
  await store.close();
  rmSync(home, { recursive: true });
});

test("budgets, swarms and changes to an agent without its owner are in the files too", async () => {
  const url = await freshDatabase();
  const home = mkdtempSync(join(tmpdir(), "rookery-mirror-"));
  const store = await openPostgresStore({ url });
  const world = await worldOn(store);
  const a = await world.agent("a");
  const read = (...path: string[]) => JSON.parse(readFileSync(join(home, ...path), "utf8"));
  const mirror = await followShared({ home, store, log: silentLog, everyMs: 3_600_000 });
  await mirror.flush();
  expect(existsSync(join(home, "budgets.json"))).toBe(false);
  const runId = await world.openRun(a, "r1");
  const call = { prompt: 10, maxTokens: 90, leastTokens: 10, read: 1, write: 2 };
  const rows = [{ key: "day:2026-01-05", limit: { tokens: 1_000_000 } }];
  await world.done([{ op: "budget.reserve", id: "c1", runId, call, rows }], a.owner);
  const helpers = { nametag: "helpers", owner: a.id, profile: "main", firstName: "H", systemPrompt: "", memory: false };
  const swarm = { ...helpers, createdAt: 1 };
  await world.done([{ op: "swarm.put", swarm }]);
  const carried = { "agent:main:dm:ann": "agent:main:telegram:dm:42" };
  await world.done([
    { op: "fact.put", key: CONVERSATIONS_FACT, value: JSON.stringify({ carried }) },
    { op: "fact.put", key: RIGHTS_REVISION, value: "1" },
  ]);
  const delivery = { id: "d1", target: { channel: "test", to: "a" }, payload: { text: "hi" }, createdAt: 1, nextAt: 1 };
  await world.done([{ op: "delivery.add", delivery: delivery as never }], a.owner);
  await mirror.flush();
  expect(read("budgets.json")).toMatchObject({ version: 1, reservations: [{ id: "c1" }] });
  expect(read("swarms", "swarms.json")).toEqual({ version: 1, swarms: [swarm] });
  expect(read("people.json")).toMatchObject({ revision: 1, conversations: { carried } });
  expect(read("agents", a.id, "pending.json").deliveries).toHaveLength(1);
  // Neither change names the agent: the mirror gets it from the database.
  await world.done([{ op: "delivery.move", id: "d1" as never, from: "pending", attempts: 0, to: "sent" }]);
  await world.done([postOp({ sessionKey: keyOf("a") }, userBody("by its key"), 5)]);
  await world.done([{ op: "swarm.remove", nametag: "helpers" }]);
  await mirror.flush();
  expect(read("agents", a.id, "pending.json")).toMatchObject({ deliveries: [], messages: [{ seq: 1 }] });
  expect(read("swarms", "swarms.json")).toEqual({ version: 1, swarms: [] });
  await mirror.stop();
  await store.close();
  rmSync(home, { recursive: true });
});

test("the keys in an agent's file are its own, of messages and of requests", async () => {
  const url = await freshDatabase();
  const home = mkdtempSync(join(tmpdir(), "rookery-mirror-"));
  const store = await openPostgresStore({ url });
  const world = await worldOn(store);
  const [a, b] = [await world.agent("a"), await world.agent("b")];
  const source = (messageId: string) => ({ connector: "test", channelId: "c", messageId });
  const keyOfSource = (messageId: string): string => JSON.stringify(["test", "", "c", messageId, 0]);
  const post = async (agentId: string, messageId: string, isKept: boolean): Promise<void> => {
    const dedupe = isKept ? { key: keyOfSource(messageId), keepUntil: 9e12 } : undefined;
    const message = { body: userBody("hi"), source: source(messageId), acceptedAt: 5 };
    await world.done([{ op: "message.post", to: { agentId: agentId as never }, message, dedupe }]);
  };
  await post(b.id, "m1", true);
  // The same message reached another agent too, which has no key for it.
  await post(a.id, "m1", false);
  await post(a.id, "m2", true);
  const ask = async (agentId: string, key: string, isKept: boolean): Promise<void> => {
    const request = isKept ? { key, digest: "d", by: "key" as const, keepUntil: 9e12 } : undefined;
    const message = { body: userBody("hi"), key, acceptedAt: 5 };
    await world.done([{ op: "message.post", to: { agentId: agentId as never }, message, request }]);
  };
  await ask(b.id, "r1", true);
  await ask(a.id, "r1", false);
  await ask(a.id, "r2", true);
  const mirror = await followShared({ home, store, log: silentLog, everyMs: 3_600_000 });
  await mirror.stop();
  const keys = (id: string): unknown[] =>
    JSON.parse(readFileSync(join(home, "agents", id, "pending.json"), "utf8")).dedupe.map(([key]: [string]) => key);
  expect([keys(a.id), keys(b.id)]).toEqual([
    [keyOfSource("m2"), "r2"],
    [keyOfSource("m1"), "r1"],
  ]);
  await store.close();
  rmSync(home, { recursive: true });
});
