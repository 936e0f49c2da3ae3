/** How long ended rows are kept before they are pruned in the background. History is never pruned. */
import { amount, section } from "../values.ts";

export const retentionDefaults = {
  messagesDays: 30,
  deliveriesDays: 30,
  runsDays: 90,
  changesHours: 24,
  auditDays: 365,
} as const;

export const retentionSchema = section({
  messagesDays: amount(36_500).default(retentionDefaults.messagesDays),
  deliveriesDays: amount(36_500).default(retentionDefaults.deliveriesDays),
  runsDays: amount(36_500).default(retentionDefaults.runsDays),
  changesHours: amount(87_600).default(retentionDefaults.changesHours),
  auditDays: amount(36_500).default(retentionDefaults.auditDays),
}).prefault({});
