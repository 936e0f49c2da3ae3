/** The store's reads on SQLite, from the modules of the tables. No read writes, and none scans a table that grows. */
import type { StoreReader } from "../../../core/store/store.ts";
import { agentReads } from "./agents.ts";
import { approvalReads } from "./approvals.ts";
import { auditReads } from "./audit.ts";
import { budgetReads } from "./budgets.ts";
import type { Database } from "./database.ts";
import { deliveryReads } from "./deliveries.ts";
import { entryReads } from "./entries.ts";
import { factReads } from "./facts.ts";
import { jobReads } from "./jobs.ts";
import { messageReads } from "./messages.ts";
import { nodeReads } from "./nodes.ts";
import { peopleReads } from "./people.ts";
import { requestReads } from "./requests.ts";
import { runReads } from "./runs.ts";
import { storedFileReads } from "./stored-files.ts";
import { subagentRunReads } from "./subagent-runs.ts";
import { swarmReads } from "./swarms.ts";
import { waitReads } from "./waits.ts";
import { countReads } from "./work-counts.ts";

export const readerOf = (db: Database): StoreReader => ({
  ...agentReads(db),
  ...messageReads(db),
  ...entryReads(db),
  ...runReads(db),
  ...deliveryReads(db),
  ...jobReads(db),
  ...subagentRunReads(db),
  ...budgetReads(db),
  ...waitReads(db),
  ...swarmReads(db),
  ...peopleReads(db),
  ...auditReads(db),
  ...approvalReads(db),
  ...storedFileReads(db),
  ...factReads(db),
  ...requestReads(db),
  ...nodeReads(db),
  ...countReads(db),
});
