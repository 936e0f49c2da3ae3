/**
 * A batch on PostgreSQL leaves the same rows and gives the same answers as its changes applied one after the other; and it is
 * refused whole if one of them does not fit.
 */
import type pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { BatchGroup, isBatchable } from "../../src/adapters/store/postgres/batchable.ts";
import { openPostgresStore, type PostgresStore } from "../../src/adapters/store/postgres/open-store.ts";
import type { ChangeId } from "../../src/core/ids.ts";
import type { Change, Op } from "../../src/core/store/change.ts";
import { apply, connection } from "../postgres/interleaving.ts";
import { freshDatabase } from "../postgres/shared.ts";
import { batchScenario, type Scenario } from "./batch-scenario.ts";
import { idOf, postOp, START, userBody, worldOn } from "./fixture.ts";

/** Those that a batch can write. */
const TABLES = [
  "agents",
  "states",
  "messages",
  "dedupe",
  "requests",
  "entries",
  "runs",
  "deliveries",
  "facts",
  "audit",
  "changes",
];

let store: PostgresStore;
let client: pg.Client;
let scenario: Scenario;
beforeAll(async () => {
  const url = await freshDatabase();
  store = await openPostgresStore({ url, leaseClock: "changes" });
  client = await connection(url);
  scenario = await batchScenario(await worldOn(store));
});
afterAll(async () => {
  await client.end();
  await store.close();
});

/** What applying changes answers and leaves; nothing stays of it. */
async function tried(changes: readonly Change[], batched: boolean): Promise<{ answers: unknown; rows: unknown }> {
  await client.query("BEGIN");
  try {
    return { answers: answersOf(await apply(client, changes, batched), changes.length), rows: await rowsOf() };
  } finally {
    await client.query("ROLLBACK");
  }
}

/** By change and op. */
function answersOf(said: unknown, count: number): unknown {
  const list = said as readonly { i?: number; o?: number; said?: unknown; ok?: object }[];
  if (list.some(({ ok }) => ok)) return list.map(({ ok }) => ok);
  const answers = Array.from({ length: count }, (): Record<string, unknown> => ({}));
  for (const { i = -1, o = -1, said: answer } of list) Object.assign(answers[i] ?? {}, { [o]: answer });
  return answers;
}

/** All their rows. The numbers of sequences and transactions are left out, but not the order that they make. */
async function rowsOf(): Promise<unknown> {
  const selects = TABLES.map(
    (name) =>
      `SELECT '${name}' AS name, (to_jsonb(t)->>'n')::bigint AS n, to_jsonb(t) - '{n,xid}'::text[] AS kept FROM ${name} t`,
  );
  const { rows } = await client.query(`${selects.join(" UNION ALL ")} ORDER BY name, n, kept`);
  return rows.map(({ name, kept }) => ({
    ...{ name, ...kept },
    ...(kept.touched && { touched: [...new Set(kept.touched)].toSorted() }),
    ...(name === "changes" && kept.result && { result: JSON.parse(kept.result) }),
  }));
}

test("a batch does what its changes do one after the other", async () => {
  for (const changes of scenario.batches) {
    const group = new BatchGroup();
    for (const one of changes) expect([isBatchable(one), group.takes(one)], one.id).toEqual([true, true]);
    expect(await tried(changes, true)).toEqual(await tried(changes, false));
  }
});

test("a batch is refused if one of its changes does not fit, and nothing is applied", async () => {
  const before = await rowsOf();
  const codes: Record<string, unknown> = {};
  for (const [title, change] of Object.entries(scenario.unfit)) {
    const others = scenario.batches.flat().filter(({ owner }) => owner && owner.agentId !== change.owner?.agentId);
    expect(isBatchable(change), title).toBe(true);
    codes[title] = await tried([...others.slice(0, 1), change], true).then(
      () => "applied",
      ({ code }) => code,
    );
  }
  expect(codes).toEqual(Object.fromEntries(Object.keys(codes).map((title) => [title, "RKSLW"])));
  expect(await rowsOf()).toEqual(before);
});

test.each([true, false])(
  "a lease is measured by the database's clock, also for a message (batched: %s)",
  async (batched) => {
    const day = 86_400_000;
    const change = (id: string, op: Op): Change => ({ id: id as ChangeId, site: "clock", at: START, ops: [op] });
    await client.query("BEGIN");
    try {
      const join = change("join", { op: "node.join", name: "clock", leaseUntil: START + day });
      const [joined] = (await apply(client, [join], false, true)) as readonly { ok: { 0: { node: number } } }[];
      const node = joined?.ok[0].node ?? 0;
      const { rows } = await client.query(
        "SELECT (lease_until - extract(epoch FROM clock_timestamp()) * 1000)::bigint AS left FROM nodes WHERE node = $1",
        [node],
      );
      expect(Number(rows[0]?.left)).toBeGreaterThan(day / 2);
      expect(Number(rows[0]?.left)).toBeLessThanOrEqual(day);
      await apply(client, [change("claim", { op: "agent.claim", agentId: idOf("free"), node })], false, true);
      const post = postOp({ agentId: idOf("free") }, userBody("x"), START, { claimFor: node + 1 });
      const said = answersOf(await apply(client, [change("post", post)], batched, true), 1);
      expect(said).toMatchObject([{ 0: { holder: { node, epoch: 1 } } }]);
    } finally {
      await client.query("ROLLBACK");
    }
  },
);
