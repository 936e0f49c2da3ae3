/** The table `audit`: rows are added and read, never changed. */
import type { AuditFilter, AuditRow } from "../../../core/people/audit.ts";
import type { StoreReader } from "../../../core/store/store.ts";
import { storedJson } from "../rows.ts";
import { clean, cleanIfAny } from "./clean-text.ts";
import type { Connections } from "./connections.ts";
import { type OpForms, type OpOf, type Wire, whole } from "./op-form.ts";

/** One statement for every filter: PostgreSQL drops the conditions that are not given when it plans it. */
const SELECT = {
  name: "select-audit",
  text: `SELECT n, entry FROM audit
WHERE ($1::bigint IS NULL OR n < $1) AND ($2::bigint IS NULL OR at >= $2) AND ($3::text IS NULL OR person = $3)
  AND ($4::text IS NULL OR agent = $4) AND ($5::text IS NULL OR action = $5) AND ($6::text IS NULL OR decision = $6)
ORDER BY n DESC LIMIT $7`,
};

export const auditReads = (connections: Connections): Pick<StoreReader, "audit"> => ({
  audit: async ({ limit, beforeN, since, person, agentId, action, decision }: AuditFilter) => {
    const values = [beforeN ?? null, since ?? null, person ?? null, agentId ?? null, action ?? null, decision ?? null];
    const rows = await connections.all<{ n: string | number; entry: string }>(SELECT, ...values, limit);
    return rows.map(({ n, entry }): AuditRow => ({ ...storedJson<AuditRow>(entry), n: Number(n) }));
  },
});

const wireAudit = ({ entry }: OpOf<"audit.add">): Wire => ({
  at: whole(entry.at),
  person: clean(entry.person),
  agent: cleanIfAny(entry.agentId),
  action: clean(entry.action),
  decision: entry.decision,
  entry: JSON.stringify(entry),
});

export const auditOps: OpForms<"audit.add"> = {
  "audit.add": { wire: wireAudit, batch: (op, { add }) => add("audit", wireAudit(op)) },
};
