/**
 * The contract on PostgreSQL for everyday changes, applied one after the other. Alone they are batchable and go to `apply_batch`;
 * together with an op that is not, `apply_changes` must do the same with them.
 */
import { afterAll, beforeAll, describe } from "vitest";
import { openPostgresStore, type PostgresStore } from "../../src/adapters/store/postgres/open-store.ts";
import type { CommitResult, Op } from "../../src/core/store/change.ts";
import type { Store } from "../../src/core/store/store.ts";
import { emptied } from "../postgres/emptied.ts";
import { freshDatabase } from "../postgres/shared.ts";
import { commitContract } from "./commit-contract.ts";
import { edgesContract } from "./edges-contract.ts";
import { exactContract } from "./exact-contract.ts";
import type { Opener } from "./fixture.ts";
import { historyContract } from "./history-contract.ts";
import { inboxContract } from "./inbox-contract.ts";
import { neighboursContract } from "./neighbours-contract.ts";
import { outboxContract } from "./outbox-contract.ts";
import { ownershipContract } from "./ownership-contract.ts";
import { requestsContract } from "./requests-contract.ts";
import { runContract } from "./run-contract.ts";
import { timesContract } from "./times-contract.ts";

/** Changes nothing, and makes a change unfit for a batch. */
const NOTHING: Op = { op: "wait.end", id: "none" };

let shared: PostgresStore | undefined;
beforeAll(async () => {
  shared = await openPostgresStore({ url: await freshDatabase(), leaseClock: "changes" });
});
afterAll(() => shared?.close());

describe("the store on PostgreSQL, one change after the other", () => {
  commitContract(opened);
  inboxContract(opened);
  ownershipContract(opened);
  historyContract(opened);
  runContract(opened);
  neighboursContract(opened);
  outboxContract(opened);
  requestsContract(opened);
  timesContract(opened);
  edgesContract(opened);
  exactContract(opened);
});

async function opened(): ReturnType<Opener> {
  if (!shared) throw new Error("The store is not open.");
  await emptied(shared);
  return { store: unbatched(shared), isShared: true };
}

function unbatched(store: Store): Store {
  const withoutFirst = (result: CommitResult): CommitResult =>
    result.ok ? { ok: true, results: result.results.slice(1) } : result;
  return {
    ...store,
    commit: async (change) => withoutFirst(await store.commit({ ...change, ops: [NOTHING, ...change.ops] })),
    outcome: async (id) => {
      const found = await store.outcome(id);
      return found && withoutFirst(found);
    },
  };
}
