/** `rookery schedules`: reminders and cron jobs, the heartbeat and webhooks: all that makes an agent work without a message. */
import type { Group } from "../command.ts";
import { showHeartbeat } from "./schedules-heartbeat.ts";
import { cronActions } from "./schedules-jobs.ts";
import { listWebhooks } from "./schedules-webhooks.ts";

export const schedulesCommand: Group = {
  summary: "list, add, run and remove schedules; show the heartbeat and webhooks",
  description:
    "Every due time becomes a run or a recorded skip; `rookery schedules runs` shows which. Schedules need a running engine: `rookery serve`.",
  actions: { ...cronActions, heartbeat: showHeartbeat, webhooks: listWebhooks },
  fallback: "list",
};
