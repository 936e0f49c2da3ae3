/** A store copied to PostgreSQL is the one that the same changes would have made there, also in what only PostgreSQL keeps. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import type { CopyEnd } from "../../src/adapters/store/copy/copy-end.ts";
import { copyStore } from "../../src/adapters/store/copy/copy-store.ts";
import { postgresEnd } from "../../src/adapters/store/copy/postgres-end.ts";
import { sqliteEnd } from "../../src/adapters/store/copy/sqlite-end.ts";
import { COPIED } from "../../src/adapters/store/copy/tables.ts";
import { openPostgresStore } from "../../src/adapters/store/postgres/open-store.ts";
import { openSqliteStore } from "../../src/adapters/store/sqlite/open-store.ts";
import { StoreUnsuitableError } from "../../src/core/errors.ts";
import type { DeliveryId, RunId } from "../../src/core/ids.ts";
import type { PersonId } from "../../src/core/people/person.ts";
import type { ApprovalId } from "../../src/core/rights/approval.ts";
import { withClient } from "../postgres/server.ts";
import { freshDatabase } from "../postgres/shared.ts";
import { everyRecord } from "./every-record.ts";
import { idOf, worldOn } from "./fixture.ts";

/** Which node works on something says nothing about a copy. */
const OF_NODES = ["node", "epoch"];

const ANN = { person: "ann" as PersonId };

let url: string;
let target: string;
let root: string;
beforeAll(async () => {
  url = await freshDatabase();
  target = await freshDatabase();
  const store = await openPostgresStore({ url, leaseClock: "changes" });
  const world = await worldOn(store);
  await everyRecord(world);
  await world.done([{ op: "node.leave", node: world.node }]);
  await store.close();
});
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "rookery-copy-"));
});
afterEach(() => rmSync(root, { recursive: true }));

const newHome = (): string => mkdtempSync(join(root, "home-"));

async function copy(from: CopyEnd, to: CopyEnd): Promise<void> {
  try {
    await copyStore(from, to);
  } finally {
    await from.close();
    await to.close();
  }
}

/** The order of keys in stored JSON is no part of it. */
const parsed = (value: unknown): unknown =>
  typeof value === "string" && value.startsWith("{") ? JSON.parse(value) : value;

/** Every column of every copied table, without what belongs to nodes. */
async function contentOf(database: string): Promise<Record<string, object[]>> {
  return withClient(database, async (client) => {
    const content: Record<string, object[]> = {};
    for (const { name, key } of [...COPIED, { name: "states", key: ["agent"] }]) {
      const { rows } = await client.query(`SELECT * FROM rookery.${name} ORDER BY ${key.join(", ")}`);
      content[name] = rows.map((row) =>
        Object.fromEntries(
          Object.entries(row).flatMap(([column, value]) =>
            OF_NODES.includes(column) ? [] : [[column, parsed(value)]],
          ),
        ),
      );
    }
    return content;
  });
}

test("the same changes on both stores make the same rows after a copy", async () => {
  const home = newHome();
  const store = openSqliteStore({ home });
  await everyRecord(await worldOn(store));
  await store.close();
  await copy(sqliteEnd(home), await postgresEnd(target));
  const [native, made] = [await contentOf(url), await contentOf(target)];
  for (const [table, rows] of Object.entries(native)) {
    expect(rows, `${table} has rows to compare`).not.toHaveLength(0);
    expect(made[table], table).toEqual(rows);
  }
});

test("what comes after a copy gets numbers behind what was copied", async () => {
  const store = await openPostgresStore({ url: target, leaseClock: "changes" });
  const world = await worldOn(store);
  const held = await world.agent("new");
  await world.openRun(held, "new run");
  const delivery = { id: "new" as DeliveryId, agentId: held.id, target: { to: "x" }, payload: { text: "t" } };
  const slot = { jobId: "new", slot: "1@1", revision: 1, dueAt: 1, count: 1, status: "fired", at: 1 } as const;
  const entry = { at: 1, person: "new", surface: "cli", action: "exec", decision: "allow" } as const;
  const approval = { id: "new" as ApprovalId, agentId: held.id, runId: "new run" as RunId, callId: "c", behalf: ANN };
  const question = { tool: "exec", arguments: {}, digest: "d", prompt: "?", askedAt: 1, dueAt: 2 };
  await world.done(
    [
      { op: "delivery.add", delivery: { ...delivery, createdAt: 1 } },
      { op: "job.slot", slot },
      { op: "audit.add", entry },
      { op: "approval.ask", approval: { ...approval, ...question } },
    ],
    held.owner,
  );
  await store.close();
  await withClient(target, async (client) => {
    for (const [table, number, column] of [
      ["agents", "no", "id"],
      ["runs", "n", "agent"],
      ["deliveries", "n", "id"],
      ["job_slots", "n", "job"],
      ["audit", "n", "person"],
      ["approvals", "n", "id"],
    ]) {
      const { rows } = await client.query(
        `SELECT ${column} AS it FROM rookery.${table} ORDER BY ${number} DESC LIMIT 1`,
      );
      expect([idOf("new"), "new"], table).toContain(rows[0]?.it);
    }
  });
});

test("a database on which a node works is refused as an end, unless it is read beside its nodes", async () => {
  const store = await openPostgresStore({ url });
  const world = await worldOn(store);
  await world.done([{ op: "node.renew", node: world.node, leaseUntil: Date.now() + 3_600_000 }]);
  await expect(postgresEnd(url)).rejects.toThrow(StoreUnsuitableError);
  const beside = await postgresEnd(url, { besideNodes: true });
  expect(await beside.isEmpty()).toBe(false);
  await beside.close();
  await world.done([{ op: "node.leave", node: world.node }]);
  const after = await postgresEnd(url);
  expect(after.describe).toBe(new URL(url).host + new URL(url).pathname);
  await after.close();
  await store.close();
});
