/** The defaults of cron jobs. */
import { flag, oneOf, section } from "../values.ts";

export const cronDefaults = { enabled: true, missed: "once", commandGates: false } as const;

export const cronSchema = section({
  enabled: flag().default(cronDefaults.enabled).describe("whether this process runs due jobs"),
  missed: oneOf(["skip", "once", "all"])
    .default(cronDefaults.missed)
    .describe("what happens to due times that were missed: none runs, only the latest, or all"),
  commandGates: flag().default(cronDefaults.commandGates).describe("whether gates of `TASK.md` files may run commands"),
})
  .prefault({})
  .meta({ description: "scheduled jobs", page: "triggers.md" });
