/** For tests that step two connections by hand: the store's own statements inside a transaction that a test keeps open. */
import pg from "pg";
import { applyFunctions } from "../../src/adapters/store/postgres/apply-functions.ts";
import { batchWire, isBatchable } from "../../src/adapters/store/postgres/batchable.ts";
import { locksOfGroup } from "../../src/adapters/store/postgres/locks.ts";
import type { PostgresStore } from "../../src/adapters/store/postgres/open-store.ts";
import { toWire } from "../../src/adapters/store/postgres/wire.ts";
import type { Change } from "../../src/core/store/change.ts";

export async function connection(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query("SET search_path TO rookery; SET deadlock_timeout = '200ms'");
  return client;
}

/**
 * Applies a group inside the connection's current transaction. A refused change never raises unless it is batched. `clock`: leases
 * are measured by the database's clock, as in production.
 */
export async function apply(
  client: pg.Client,
  changes: readonly Change[],
  batched = changes.every(isBatchable),
  clock = false,
): Promise<unknown> {
  const { applyChanges, applyBatch } = applyFunctions();
  if (batched) {
    const { names, agents, keys } = locksOfGroup(changes);
    const values = [batchWire(changes), names, agents, keys, clock];
    return (await client.query(`SELECT ${applyBatch}($1::jsonb, $2, $3, $4, $5) AS said`, values)).rows[0]?.said;
  }
  const wire = toWire(changes, new Map());
  const { names, agents, keys, runs, parents, stops, budgets, reservations } = wire;
  const values = [wire.changes, names, agents, keys, runs, parents, stops, budgets, reservations, true, clock];
  const text = `SELECT ${applyChanges}($1::jsonb, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) AS answers`;
  return (await client.query(text, values)).rows[0]?.answers;
}

/** Whether what a connection does waits for another's lock; if not, it has ended. */
export async function waits(store: PostgresStore, promise: Promise<unknown>, client: pg.Client): Promise<boolean> {
  let settled = false;
  void promise.then(
    () => (settled = true),
    () => (settled = true),
  );
  const pid = (client as unknown as { processID: number }).processID;
  while (!settled) {
    const { rows } = await store.connections.use("read", (asked) =>
      asked.query("SELECT cardinality(pg_blocking_pids($1)) > 0 AS waits", [pid]),
    );
    if (rows[0]?.waits) return true;
  }
  return false;
}
