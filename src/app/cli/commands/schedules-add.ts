/** `rookery schedules add`: a flag for every field of a job. */
import type { JobView } from "../../../engine/triggers/cron/cron-service.ts";
import { withApi } from "../client/with-api.ts";
import { defineAction } from "../command.ts";
import { printResult } from "../print.ts";
import { JOB_FLAGS, jobFrom } from "./job-flags.ts";
import { details } from "./schedules-details.ts";

export const addAction = defineAction({
  summary: "add a job",
  description: "Needs a name, one of --at, --every and --cron, and one of --message and --system-event.",
  options: JOB_FLAGS,
  async run(context) {
    const body = jobFrom(context.flags);
    const job = (await withApi(context, (api) => api.ask({ method: "POST", path: "/api/cron", body }))) as JobView;
    printResult(context, job, details(job));
    const { mayBeFired } = await import("../schedule-notice.ts");
    if (!context.json && !(await mayBeFired(context))) {
      context.stderr.write(context.here("No engine runs here. Keep `rookery serve` running to have it on time.\n"));
    }
    return undefined;
  },
});
