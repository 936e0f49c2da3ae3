/** All ops in the form they are sent to the database. `op-table.test-kit.ts` names the SQL that reads each of them. */
import type { Op } from "../../../core/store/change.ts";
import { agentOps } from "./agents.ts";
import { approvalOps } from "./approvals.ts";
import { auditOps } from "./audit.ts";
import { budgetOps } from "./budgets.ts";
import { deliveryOps } from "./deliveries.ts";
import { entryOps } from "./entries.ts";
import { eraseOps } from "./erase.ts";
import { factOps } from "./facts.ts";
import { jobOps } from "./jobs.ts";
import { messageOps } from "./messages.ts";
import { nodeOps } from "./nodes.ts";
import { type OpForm, type OpForms, whole } from "./op-form.ts";
import { peopleOps } from "./people.ts";
import { requestOps } from "./requests.ts";
import { runOps } from "./runs.ts";
import { storedFileOps } from "./stored-files.ts";
import { subagentRunOps } from "./subagent-runs.ts";
import { swarmOps } from "./swarms.ts";
import { waitOps } from "./waits.ts";

const OP_FORMS: OpForms<Op["op"]> = {
  ...agentOps,
  ...nodeOps,
  ...messageOps,
  ...entryOps,
  ...runOps,
  ...waitOps,
  ...deliveryOps,
  ...budgetOps,
  ...jobOps,
  ...subagentRunOps,
  ...swarmOps,
  ...peopleOps,
  ...auditOps,
  ...approvalOps,
  ...storedFileOps,
  ...eraseOps,
  ...factOps,
  ...requestOps,
  prune: { wire: ({ what, before, limit, after }) => ({ what, before: whole(before), limit, after }) },
};

/** The form of an op. The name and the op belong together, which the type of a lookup cannot express. */
export const formOf = (op: Op): OpForm<Op["op"]> => OP_FORMS[op.op] as OpForm<Op["op"]>;
