/** A store copied both ways is the same store, and no table is forgotten. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { copyStore } from "../../src/adapters/store/copy/copy-store.ts";
import { postgresEnd } from "../../src/adapters/store/copy/postgres-end.ts";
import { sqliteEnd } from "../../src/adapters/store/copy/sqlite-end.ts";
import { LEFT_BEHIND } from "../../src/adapters/store/copy/tables.test-kit.ts";
import { COPIED } from "../../src/adapters/store/copy/tables.ts";
import { openPostgresStore } from "../../src/adapters/store/postgres/open-store.ts";
import { openDatabase } from "../../src/adapters/store/sqlite/database.ts";
import { openSqliteStore } from "../../src/adapters/store/sqlite/open-store.ts";
import { InvalidInputError } from "../../src/core/errors.ts";
import type { DeliveryId, EntryId, RunId } from "../../src/core/ids.ts";
import { childOf, idOf, keyOf, postOp, runBody, userBody, worldOn } from "../contract/fixture.ts";
import { withClient } from "./server.ts";
import { freshDatabase } from "./shared.ts";

const home = (): string => mkdtempSync(join(tmpdir(), "rookery-copy-"));

test("a store with every kind of record is copied to PostgreSQL and back unchanged, and still works", async () => {
  const [first, last] = [home(), home()];
  const url = await freshDatabase();
  const store = openSqliteStore({ home: first });
  const world = await worldOn(store);
  const a = await world.agent("a");
  const b = await world.agent("b", childOf(a.id, "b"));
  for (let i = 0; i < 30; i++) await world.post(i % 3 ? a.id : b.id, userBody(`text ${i} \0 \u{1f426}`));
  await world.done([
    postOp({ sessionKey: keyOf("c"), create: world.seed("c") }, userBody("x"), 1, {
      dedupe: { key: "k", keepUntil: 9 },
    }),
  ]);
  await world.done([
    postOp({ agentId: a.id }, userBody("asked"), 1, {
      request: { by: "content", key: "same:t:x", isRetry: false, keepUntil: 9 },
    }),
    { op: "request.put", request: { by: "key", key: "api:t:x", digest: "d", keepUntil: 9 }, reply: '{"json":1}' },
  ]);
  await world.openRun(a, "r", [1, 2]);
  await world.done(
    [
      { op: "entries.append", position: 2, lines: ['{"a":1}', '{"b":"ü"}'], leaf: "l" as EntryId },
      {
        op: "delivery.add",
        delivery: { id: "d" as DeliveryId, agentId: a.id, target: { to: "x" }, payload: { text: "t" }, createdAt: 5 },
      },
      {
        op: "delivery.add",
        delivery: {
          id: "w" as DeliveryId,
          agentId: a.id,
          target: { channel: "api", to: "ann" },
          payload: { text: "t" },
          createdAt: 5,
          waits: { state: "waiting-reader" },
        },
      },
      {
        op: "budget.reserve",
        id: "res",
        runId: "r" as RunId,
        call: { prompt: 1, maxTokens: 2, leastTokens: 1, read: 1, write: 1 },
        rows: [{ key: "day:x", limit: { tokens: 99 } }],
      },
      { op: "budget.told", key: "day:x" },
      { op: "fact.put", key: "f", value: "v" },
    ],
    a.owner,
  );
  await store.close();

  const there = [sqliteEnd(first), await postgresEnd(url)] as const;
  const out = await copyStore(...there);
  for (const end of there) await end.close();
  expect(out.find(({ table }) => table === "messages")?.rows).toBe(32);
  expect(out.find(({ table }) => table === "requests")?.rows).toBe(2);

  const shared = await openPostgresStore({ url, leaseClock: "changes" });
  expect(await shared.agentByKey(keyOf("c"))).toMatchObject({ id: idOf("c"), waiting: 1 });
  expect((await shared.agent(a.id))?.node).toBeUndefined();
  expect(await shared.mailbox('{"channel":"api","to":"ann"}', { limit: 9 })).toMatchObject([{ id: "w" }]);
  expect(await shared.run("r" as RunId)).toMatchObject({ state: "open", body: runBody([1, 2]) });
  await shared.close();

  const back = [await postgresEnd(url), sqliteEnd(last)] as const;
  expect(await copyStore(...back)).toEqual(out);
  for (const end of back) await end.close();
  const again = openSqliteStore({ home: last });
  const next = await worldOn(again);
  expect(await next.post(a.id)).toMatchObject({ seq: 22 });
  await again.close();

  const full = [sqliteEnd(first), sqliteEnd(last)] as const;
  await expect(copyStore(...full)).rejects.toThrow(InvalidInputError);
  for (const end of full) await end.close();
  for (const path of [first, last]) rmSync(path, { recursive: true });
});

test("every table and column of both databases is copied or listed as not copied", async () => {
  const url = await freshDatabase();
  await (await openPostgresStore({ url })).close();
  const inPostgres = await withClient(url, async (client) => {
    const { rows } = await client.query(
      `SELECT relname AS name FROM pg_class WHERE relnamespace = 'rookery'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition`,
    );
    return rows.map(({ name }) => name as string);
  });
  const db = openDatabase(":memory:");
  const inSqlite = db.sql.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
  const known = [...COPIED.map(({ name }) => name), ...LEFT_BEHIND];
  for (const name of [...inPostgres, ...inSqlite.map(({ name }) => String(name))]) expect(known).toContain(name);
  for (const { name, columns } of COPIED) {
    const info = db.sql.prepare(`SELECT name FROM pragma_table_info('${name}')`).all();
    const missing = info.map((column) => String(column.name)).filter((column) => !(column in columns));
    expect(
      missing.filter((column) => !["n", "node"].includes(column)),
      name,
    ).toEqual([]);
  }
  db.close();
});

test("the command also copies minted tokens, in both directions", async () => {
  const [a, b] = [home(), home()];
  const url = await freshDatabase();
  const run = (...argv: string[]): string =>
    execFileSync(process.execPath, ["src/main.ts", ...argv], {
      encoding: "utf8",
      env: { ...process.env, ROOKERY_STORE: undefined },
    });
  run("people", "tokens", "add", "desk", "--home", a);
  run("engine", "copy", "--from", a, "--to", url);
  const { items } = JSON.parse(run("people", "tokens", "list", "--home", b, "--store", url, "--json"));
  const [listed] = items;
  expect(listed).toMatchObject({ name: "desk", scopes: ["chat"] });
  run("engine", "copy", "--from", url, "--to", b);
  expect(JSON.parse(run("people", "tokens", "list", "--home", b, "--json"))).toEqual({ items: [listed], next: null });
  for (const one of [a, b]) rmSync(one, { recursive: true });
});
