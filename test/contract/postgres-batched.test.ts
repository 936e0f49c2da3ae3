/**
 * The contract on PostgreSQL for everyday changes, each as a batch. A batch that turns out not to fit is applied one after the
 * other, which is slower and which nobody sees. So here a batch must not be refused if its change can be applied.
 */
import type pg from "pg";
import { afterAll, beforeAll, describe, expect } from "vitest";
import { isBatchable } from "../../src/adapters/store/postgres/batchable.ts";
import { openPostgresStore, type PostgresStore } from "../../src/adapters/store/postgres/open-store.ts";
import type { Change, CommitResult, OpResult } from "../../src/core/store/change.ts";
import type { Store } from "../../src/core/store/store.ts";
import { emptied } from "../postgres/emptied.ts";
import { apply, connection } from "../postgres/interleaving.ts";
import { freshDatabase } from "../postgres/shared.ts";
import { edgesContract } from "./edges-contract.ts";
import { exactContract } from "./exact-contract.ts";
import type { Opener } from "./fixture.ts";
import { historyContract } from "./history-contract.ts";
import { inboxContract } from "./inbox-contract.ts";
import { neighboursContract } from "./neighbours-contract.ts";
import { outboxContract } from "./outbox-contract.ts";
import { runContract } from "./run-contract.ts";
import { timesContract } from "./times-contract.ts";

let shared: PostgresStore | undefined;
let client: pg.Client | undefined;
beforeAll(async () => {
  const url = await freshDatabase();
  shared = await openPostgresStore({ url, leaseClock: "changes" });
  client = await connection(url);
});
afterAll(async () => {
  await client?.end();
  await shared?.close();
});

describe("the store on PostgreSQL, everyday changes as batches", () => {
  inboxContract(opened);
  historyContract(opened);
  runContract(opened);
  outboxContract(opened);
  timesContract(opened);
  edgesContract(opened);
  exactContract(opened);
  neighboursContract(opened);
});

async function opened(): ReturnType<Opener> {
  if (!shared || !client) throw new Error("The store is not open.");
  await emptied(shared);
  return { store: batched(shared, client), isShared: true };
}

function batched(store: Store, connected: pg.Client): Store {
  let turn: Promise<unknown> = Promise.resolve();
  const commit = async (change: Change): Promise<CommitResult> => {
    if (!isBatchable(change)) return store.commit(change);
    try {
      const answers = (await apply(connected, [change], true)) as readonly { o: number; said: OpResult }[];
      const results = change.ops.map((_, index) => answers.find(({ o }) => o === index)?.said);
      return { ok: true, results };
    } catch (error) {
      expect(error).toMatchObject({ code: expect.stringMatching(/^(?:RKSLW|23505)$/) });
      const result = await store.commit(change);
      // What may be a message or a request that was seen before is compared one after the other.
      const mayRepeat = change.ops.some((op) => op.op === "message.post" && (op.dedupe ?? op.request) !== undefined);
      if (!mayRepeat) expect(result, JSON.stringify(change.ops)).toMatchObject({ ok: false });
      return result;
    }
  };
  return {
    ...store,
    // The connection takes one after the other, in the order they came.
    commit: (change) => {
      const next = turn.then(() => commit(change));
      turn = next.catch(() => undefined);
      return next;
    },
  };
}
