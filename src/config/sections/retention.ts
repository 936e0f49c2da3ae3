/** How long ended rows are kept before they are pruned in the background. History is never pruned. */
import { amount, section } from "../values.ts";

export const retentionDefaults = { recordsDays: 30, auditDays: 365 } as const;

export const retentionSchema = section({
  /** Settled messages and ended deliveries; ended runs three times as long. */
  recordsDays: amount(36_500).default(retentionDefaults.recordsDays),
  auditDays: amount(36_500).default(retentionDefaults.auditDays),
}).prefault({});
