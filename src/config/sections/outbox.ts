/** How long a delivery is tried before it ends (M17). */
import { amount, section } from "../values.ts";

export const outboxDefaults = { maxAgeHours: 24 } as const;

export const outboxSchema = section({
  maxAgeHours: amount(87_600)
    .default(outboxDefaults.maxAgeHours)
    .describe("how many hours a delivery is retried; older ones end as `failed`"),
})
  .prefault({})
  .meta({ description: "how long a delivery is retried", page: "deliveries.md" });
