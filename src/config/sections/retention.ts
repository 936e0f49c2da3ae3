/** How long ended rows are kept before they are pruned in the background. History is never pruned. */
import { amount, section } from "../values.ts";

export const retentionDefaults = { recordsDays: 30, auditDays: 365 } as const;

export const retentionSchema = section({
  recordsDays: amount(36_500)
    .default(retentionDefaults.recordsDays)
    .describe("how many days settled messages and ended deliveries are kept; ended runs three times as long"),
  auditDays: amount(36_500)
    .default(retentionDefaults.auditDays)
    .describe("how many days rows of the audit log are kept"),
})
  .prefault({})
  .meta({ description: "how long finished records are kept; history is never pruned", page: "operations.md" });
