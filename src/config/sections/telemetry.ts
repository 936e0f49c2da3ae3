/** Whether runs, model calls and tools are reported to OpenTelemetry. */
import { z } from "zod";
import { section } from "../values.ts";

export const telemetryDefaults = { enabled: false } as const;

export const telemetrySchema = section({
  enabled: z
    .boolean({ error: "expected true or false" })
    .default(telemetryDefaults.enabled)
    .describe("spans of runs, model calls and tools, for an SDK that you register"),
})
  .prefault({})
  .meta({ description: "reports to OpenTelemetry", page: "operations.md" });
