/** How long and how often a delivery is tried before it ends (M17). */
import { amount, section, wholeNumber } from "../values.ts";

export const outboxDefaults = {
  maxAgeHours: 24,
  retryMinMs: 1_000,
  retryMaxMs: 300_000,
  sendTimeoutSeconds: 60,
  maxUnroutableAgeHours: 168,
} as const;

export const outboxSchema = section({
  maxAgeHours: amount(87_600).default(outboxDefaults.maxAgeHours),
  retryMinMs: wholeNumber(1, 86_400_000).default(outboxDefaults.retryMinMs),
  retryMaxMs: wholeNumber(1, 86_400_000).default(outboxDefaults.retryMaxMs),
  sendTimeoutSeconds: wholeNumber(1, 3_600).default(outboxDefaults.sendTimeoutSeconds),
  maxUnroutableAgeHours: amount(87_600).default(outboxDefaults.maxUnroutableAgeHours),
}).prefault({});
