/** The table `audit`: rows are added and read, never changed. */
import type { AuditFilter, AuditRow } from "../../../core/people/audit.ts";
import type { Op } from "../../../core/store/change.ts";
import type { StoreReader } from "../../../core/store/store.ts";
import { storedJson } from "../rows.ts";
import type { Applying } from "./agent-cache.ts";
import type { Database } from "./database.ts";

const INSERT = "INSERT INTO audit (at, person, agent, action, decision, entry) VALUES (?, ?, ?, ?, ?, ?)";

export const auditReads = (db: Database): Pick<StoreReader, "audit"> => ({
  audit: async (filter) => {
    const { where, values } = conditionsOf(filter);
    const rows = db.all<{ n: number; entry: string }>(
      `SELECT n, entry FROM audit WHERE ${where} ORDER BY n DESC LIMIT ?`,
      ...values,
      filter.limit,
    );
    return rows.map(({ n, entry }): AuditRow => ({ ...storedJson<AuditRow>(entry), n }));
  },
});

function conditionsOf({ beforeN, since, person, agentId, action, decision }: AuditFilter) {
  const given: readonly (readonly [string, string | number | undefined])[] = [
    ["n < ?", beforeN],
    ["at >= ?", since],
    ["person = ?", person],
    ["agent = ?", agentId],
    ["action = ?", action],
    ["decision = ?", decision],
  ];
  const used = given.filter((one): one is readonly [string, string | number] => one[1] !== undefined);
  return { where: ["1", ...used.map(([text]) => text)].join(" AND "), values: used.map(([, value]) => value) };
}

export function addAudit({ db }: Applying, { entry }: Extract<Op, { op: "audit.add" }>): undefined {
  const { at, person, agentId, action, decision } = entry;
  db.run(INSERT, at, person, agentId ?? null, action, decision, JSON.stringify(entry));
}
