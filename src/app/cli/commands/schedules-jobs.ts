/** `rookery schedules`: manages scheduled jobs and shows the outcomes of their due times. */
import { distinctNames } from "../../../core/typed-name.ts";
import type { JobOutcome, ScheduledJob } from "../../client/spending-resources.ts";
import { reading, withApi } from "../client/with-api.ts";
import { defineAction } from "../command.ts";
import { limitFlag, numberFlag } from "../number-flag.ts";
import { oneLine } from "../plain-text.ts";
import { printList, printResult } from "../print.ts";
import { relativeTime } from "../relative-time.ts";
import { upTo } from "../up-to.ts";
import { addAction } from "./schedules-add.ts";
import { details } from "./schedules-details.ts";

const MAX_JOBS = 100_000;

const list = defineAction({
  summary: "list jobs and when each is due next",
  options: { all: { type: "boolean", description: "include disabled jobs" } },
  async run(context) {
    const all = context.flags.all ?? false;
    const page = await reading(context, ({ schedule }) =>
      upTo(MAX_JOBS, undefined, (limit, after: string | undefined) => schedule.list({ all, limit, after })),
    );
    const names = distinctNames(page.items);
    const named = new Map(page.items.map(({ id }, at) => [id, names[at] ?? ""]));
    return printList(context, {
      ...page,
      line: (job) => line({ ...job, name: named.get(job.id) ?? job.name }),
      empty: "No jobs.",
    });
  },
});

const show = defineAction({
  summary: "show one job",
  usage: "<job id or name>",
  arguments: { min: 1, max: 1 },
  async run(context) {
    const job = await reading(context, ({ schedule }) => schedule.get(context.args[0] ?? ""));
    return printResult(context, job, details(job));
  },
});

interface Change {
  readonly method: "POST" | "PATCH" | "DELETE";
  readonly below?: string;
  readonly body?: unknown;
}

const change = (summary: string, done: string, { method, below = "", body }: Change) =>
  defineAction({
    summary,
    usage: "<job id or name>",
    arguments: { min: 1, max: 1 },
    async run(context) {
      const named = context.args[0] ?? "";
      const path = `/api/cron/${encodeURIComponent(named)}`;
      const { answer, job } = await withApi(context, async (api) => {
        const job = (await api.ask({ method: "GET", path })) as ScheduledJob;
        return { job, answer: await api.ask({ method, path: `/api/cron/${job.id}${below}`, body }) };
      });
      const result = method === "DELETE" ? { id: job.id } : answer;
      return printResult(context, result, `${oneLine(job.name, 60)} ${done}.`);
    },
  });

const runs = defineAction({
  summary: "show the past due times of a job and their outcomes",
  usage: "<job id or name>",
  arguments: { min: 1, max: 1 },
  options: {
    before: { type: "string", value: "N", description: "only those before this number" },
    limit: { type: "string", value: "N", description: "how many at most (default: 20)" },
  },
  async run(context) {
    const limit = limitFlag(context.flags.limit, 20, 5_000);
    const before = numberFlag(context.flags.before, "--before");
    const page = await reading(context, ({ schedule }) =>
      upTo(limit, before, (count, from) => schedule.runs(context.args[0] ?? "", { limit: count, before: from })),
    );
    return printList(context, { ...page, line: slotLine, empty: "This job was not due yet." });
  },
});

export const cronActions = {
  list,
  show,
  add: addAction,
  remove: change("remove a job", "is removed", { method: "DELETE" }),
  enable: change("enable a job", "is on", { method: "PATCH", body: { enabled: true } }),
  disable: change("disable a job", "is off", { method: "PATCH", body: { enabled: false } }),
  run: change("run a job once, outside of its schedule", "is due now: it runs as soon as an engine is up", {
    method: "POST",
    below: "/run",
  }),
  runs,
};

const line = ({ name, enabled, when, nextTimes, state }: ScheduledJob): string =>
  `${enabled ? "on " : "off"}  ${oneLine(name, 60)}: ${when}${nextTimes[0] ? `, next ${relativeTime(nextTimes[0].atMs, Date.now())}` : ""}${state.lastStatus ? `  last: ${state.lastStatus}` : ""}`;

function slotLine({ dueAt, count, status, reason, end, deliveries }: JobOutcome): string {
  const range = count > 1 ? ` and ${count - 1} more` : "";
  const run = end ? `run ${end.status}${end.error ? ` (${end.error})` : ""}` : status === "fired" ? "running" : "";
  const sent =
    deliveries.map(({ state }) => state).join(", ") ||
    (end && end.delivery.status !== "none" ? end.delivery.status : "");
  return `${relativeTime(dueAt, Date.now()).padEnd(12)}${range}  ${status}${reason ? `: ${reason}` : ""}${run ? `  ${run}` : ""}${sent ? `  delivery ${sent}` : ""}`;
}
