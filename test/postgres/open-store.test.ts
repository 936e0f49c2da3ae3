/** Opening the shared store: its schema, its clock, its batches, and databases that are refused. */
import { expect, test } from "vitest";
import { openPostgresReader } from "../../src/adapters/store/postgres/open-reader.ts";
import { openPostgresStore } from "../../src/adapters/store/postgres/open-store.ts";
import { NotFoundError, StoreNewerError, StoreUnavailableError } from "../../src/core/errors.ts";
import { worldOn } from "../contract/fixture.ts";
import { withClient } from "./server.ts";
import { freshDatabase } from "./shared.ts";

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

test("no transaction has more changes than a batch may have", async () => {
  const store = await openPostgresStore({ url: await freshDatabase(), maxBatch: 2 });
  const world = await worldOn(store);
  const keys = Array.from({ length: 12 }, (_, n) => `f${n}`);
  await Promise.all(keys.map((key) => world.done([{ op: "fact.put", key, value: "1" }])));
  const most = await store.connections.use("read", async (client) => {
    const { rows } = await client.query("SELECT count(*)::int AS n FROM changes GROUP BY xid ORDER BY n DESC LIMIT 1");
    return rows[0]?.n;
  });
  expect(most).toBe(2);
  await store.close();
});

test("a database without tables has nothing to read, and one of a newer program is neither read nor opened", async () => {
  const url = await freshDatabase();
  await expect(openPostgresReader({ url })).rejects.toThrow(NotFoundError);
  await (await openPostgresStore({ url })).close();
  await withClient(url, (client) => client.query("UPDATE rookery.meta SET value = '999' WHERE key = 'schema_version'"));
  await expect(openPostgresReader({ url })).rejects.toThrow(StoreNewerError);
  await expect(openPostgresStore({ url })).rejects.toThrow(StoreNewerError);
});

test("a server that does not answer is an unavailable store", async () => {
  const url = new URL(await freshDatabase());
  url.pathname = "/there_is_no_such_database";
  await expect(openPostgresStore({ url: url.href })).rejects.toThrow(StoreUnavailableError);
  await expect(openPostgresReader({ url: url.href })).rejects.toThrow(StoreUnavailableError);
});
