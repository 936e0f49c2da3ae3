/**
 * The contract of all stores. The tests use the port only, so that PostgreSQL passes the same tests as SQLite on a
 * file and in memory.
 */
import { describe } from "vitest";
import { approvalsContract } from "./approvals-contract.ts";
import { budgetContract } from "./budget-contract.ts";
import { budgetModelContract } from "./budget-model-contract.ts";
import { commitContract } from "./commit-contract.ts";
import { damageContract } from "./damage-contract.ts";
import { edgesContract } from "./edges-contract.ts";
import { eraseContract } from "./erase-contract.ts";
import { eraseRowsContract } from "./erase-rows-contract.ts";
import { exactContract } from "./exact-contract.ts";
import { filesContract } from "./files-contract.ts";
import { firstRowsContract } from "./first-rows-contract.ts";
import type { Opener } from "./fixture.ts";
import { historyContract } from "./history-contract.ts";
import { inboxContract } from "./inbox-contract.ts";
import { inboxModelContract } from "./inbox-model-contract.ts";
import { jobsContract } from "./jobs-contract.ts";
import { lifetimeContract } from "./lifetime-contract.ts";
import { listsContract } from "./lists-contract.ts";
import { neighboursContract } from "./neighbours-contract.ts";
import { outboxContract } from "./outbox-contract.ts";
import { ownershipContract } from "./ownership-contract.ts";
import { peopleContract } from "./people-contract.ts";
import { postedContract } from "./posted-contract.ts";
import { readsContract } from "./reads-contract.ts";
import { recordsContract } from "./records-contract.ts";
import { requestsContract } from "./requests-contract.ts";
import { retentionContract } from "./retention-contract.ts";
import { retentionWalkContract } from "./retention-walk-contract.ts";
import { runContract } from "./run-contract.ts";
import { swarmContract } from "./swarm-contract.ts";
import { timesContract } from "./times-contract.ts";
import { waitsContract } from "./waits-contract.ts";
import { workCountsContract } from "./work-counts-contract.ts";

export function storeContract(name: string, open: Opener): void {
  describe(`the store on ${name}`, () => {
    commitContract(open);
    inboxContract(open);
    inboxModelContract(open);
    ownershipContract(open);
    historyContract(open);
    runContract(open);
    neighboursContract(open);
    outboxContract(open);
    recordsContract(open);
    budgetContract(open);
    budgetModelContract(open);
    timesContract(open);
    edgesContract(open);
    waitsContract(open);
    jobsContract(open);
    swarmContract(open);
    requestsContract(open);
    postedContract(open);
    peopleContract(open);
    approvalsContract(open);
    filesContract(open);
    retentionContract(open);
    retentionWalkContract(open);
    eraseContract(open);
    eraseRowsContract(open);
    workCountsContract(open);
    listsContract(open);
    firstRowsContract(open);
    readsContract(open);
    exactContract(open);
    lifetimeContract(open);
    damageContract(open);
  });
}
