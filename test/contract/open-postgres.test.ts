/** Opening the shared store: its schema, its clock, its batches, and databases that are refused. */
import { expect, test } from "vitest";
import { openPostgresReader } from "../../src/adapters/store/postgres/open-reader.ts";
import { openPostgresStore } from "../../src/adapters/store/postgres/open-store.ts";
import { NotFoundError, StoreNewerError, StoreUnavailableError } from "../../src/core/errors.ts";
import type { AgentId, DeliveryId } from "../../src/core/ids.ts";
import { withClient } from "../postgres/server.ts";
import { freshDatabase } from "../postgres/shared.ts";
import { worldOn } from "./fixture.ts";

test("stores in two schemas of one database do not see each other, and a reader sees its own", async () => {
  const url = await freshDatabase();
  const [one, two] = [await openPostgresStore({ url }), await openPostgresStore({ url, schema: "other" })];
  await (await worldOn(one)).done([{ op: "fact.put", key: "f", value: "1" }]);
  expect([await one.fact("f"), await two.fact("f")]).toEqual(["1", undefined]);
  const [reader, other] = [await openPostgresReader({ url }), await openPostgresReader({ url, schema: "other" })];
  expect([await reader.fact("f"), await other.fact("f")]).toEqual(["1", undefined]);
  await Promise.all([one, two, reader, other].map((opened) => opened.close()));
});

test("a lease is measured by the clock of the database, however wrong the clock of its node is", async () => {
  const store = await openPostgresStore({ url: await freshDatabase() });
  const world = await worldOn(store);
  world.now = 1_000;
  const node = await world.join("late", 1_000 + 3_600_000);
  const until = async () => (await store.nodes()).find((one) => one.node === node)?.leaseUntil ?? 0;
  const left = await store.connections.use("read", async (client) => {
    const { rows } = await client.query("SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now");
    return (await until()) - Number(rows[0]?.now);
  });
  expect(left).toBeGreaterThan(3_000_000);
  expect(left).toBeLessThanOrEqual(3_600_000);
  await store.close();
});

test.each([
  [2, 12, { maxBatch: 2 }],
  [128, 140, {}],
])("no transaction has more changes than a batch may have: %i", async (size, count, options) => {
  const store = await openPostgresStore({ url: await freshDatabase(), ...options });
  const world = await worldOn(store);
  const keys = Array.from({ length: count }, (_, n) => `f${n}`);
  await Promise.all(keys.map((key) => world.done([{ op: "fact.put", key, value: "1" }])));
  const most = await store.connections.use("read", async (client) => {
    const { rows } = await client.query("SELECT count(*)::int AS n FROM changes GROUP BY xid ORDER BY n DESC LIMIT 1");
    return rows[0]?.n;
  });
  expect(most).toBe(size);
  await store.close();
});

test("a database without tables has nothing to read, and one of a newer program is neither read nor opened", async () => {
  const url = await freshDatabase();
  await expect(openPostgresReader({ url })).rejects.toThrow(NotFoundError);
  await (await openPostgresStore({ url })).close();
  await withClient(url, (client) => client.query("UPDATE rookery.meta SET value = '999' WHERE key = 'schema_version'"));
  await expect(openPostgresReader({ url })).rejects.toThrow(StoreNewerError);
  await expect(openPostgresStore({ url })).rejects.toThrow(StoreNewerError);
  // What was refused leaves no connection behind.
  const others =
    "SELECT application_name FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()";
  await withClient(url, (client) => expect.poll(async () => (await client.query(others)).rows).toEqual([]));
});

test("a server that does not answer is an unavailable store", async () => {
  const url = new URL(await freshDatabase());
  url.pathname = "/there_is_no_such_database";
  await expect(openPostgresStore({ url: url.href })).rejects.toThrow(StoreUnavailableError);
  await expect(openPostgresReader({ url: url.href })).rejects.toThrow(StoreUnavailableError);
});

test("the first agent and the first delivery of a new store are in every list that they belong to", async () => {
  const store = await openPostgresStore({ url: await freshDatabase(), leaseClock: "changes" });
  const world = await worldOn(store);
  const first = await world.agent("first");
  await world.post(first.id);
  const delivery = { id: "d" as DeliveryId, agentId: first.id, target: { to: "x" }, payload: { text: "t" } };
  await world.done([{ op: "delivery.add", delivery: { ...delivery, createdAt: 1 } }], first.owner);
  const kind = (await store.agent(first.id))?.descriptor.type ?? "user";
  for (const list of [
    await store.agents({ limit: 9 }),
    await store.agents({ limit: 9, newest: true }),
    await store.agentsOfKind(kind, { limit: 9 }),
    await store.busyAgents({ limit: 9 }),
    await store.roots({ limit: 9 }),
    (await store.eraser?.agents({ limit: 9 })) ?? [],
  ])
    expect(list.map(({ id }) => id)).toEqual([first.id]);
  expect(await store.deliveries({ limit: 9 })).toMatchObject([{ id: "d", n: 1 }]);
  // A rebuilt store that was copied may have numbered a child before its parent.
  await store.connections.use("read", (client) => client.query("UPDATE agents SET parent = 'later'"));
  expect((await store.children("later" as AgentId, { limit: 9 })).map(({ id }) => id)).toEqual([first.id]);
  await store.close();
});
