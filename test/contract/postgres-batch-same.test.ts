/**
 * A batch on PostgreSQL leaves the same rows and gives the same answers as its changes applied one after the other; and it is
 * refused whole if one of them does not fit. In both, leases are measured by the database's clock.
 */
import type pg from "pg";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
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

describe("by the clock of the database", () => {
  beforeEach(() => client.query("BEGIN"));
  afterEach(() => client.query("ROLLBACK"));

  const applied = async (op: Op, batched = false): Promise<unknown> => {
    const change: Change = { id: op.op as ChangeId, site: "clock", at: START, ops: [op] };
    return answersOf(await apply(client, [change], batched, true), 1);
  };
  const joined = async (leaseUntil: number): Promise<number> => {
    const [said] = (await applied({ op: "node.join", name: "clock", leaseUntil })) as readonly {
      0: { node: number };
    }[];
    return said?.[0].node ?? 0;
  };
  const asked = async (expression: string, node: number): Promise<number> =>
    Number((await client.query(`SELECT ${expression} AS value FROM nodes WHERE node = $1`, [node])).rows[0]?.value);

  test.each([true, false])(
    "a lease lasts as long as it was given, also for a message (batched: %s)",
    async (batched) => {
      const day = 86_400_000;
      const node = await joined(START + day);
      const left = await asked("lease_until - extract(epoch FROM clock_timestamp()) * 1000", node);
      expect(left).toBeGreaterThan(day / 2);
      // The end is a whole millisecond, the clock is not.
      expect(left).toBeLessThan(day + 1);
      await applied({ op: "agent.claim", agentId: idOf("free"), node });
      const post = postOp({ agentId: idOf("free") }, userBody("x"), START, { claimFor: node + 1 });
      expect(await applied(post, batched)).toMatchObject([{ 0: { holder: { node, epoch: 1 } } }]);
    },
  );

  test("a lease without an end ends at the last exact number", async () => {
    const node = await joined(Number.MAX_SAFE_INTEGER);
    expect(await asked(`lease_until - ${Number.MAX_SAFE_INTEGER}`, node)).toBe(0);
    await applied({ op: "node.renew", node, leaseUntil: Number.MAX_SAFE_INTEGER });
    expect(await asked(`lease_until - ${Number.MAX_SAFE_INTEGER}`, node)).toBe(0);
  });
});
