/** Cron jobs, heartbeats and webhooks. A webhook is authorised by the token or signature its configuration names. */
import { z } from "zod";
import { DEFAULT_PROFILE } from "../../../core/agent/agent.ts";
import { NotFoundError } from "../../../core/errors.ts";
import { unknownName } from "../../../core/known-name.ts";
import { listOf } from "../../../core/list.ts";
import { OWNER } from "../../../core/people/person.ts";
import { cronWakeModeSchema, defaultWakeMode } from "../../../core/schedule/job.ts";
import type { JobView } from "../../../engine/triggers/cron/cron-service.ts";
import { mainAddress } from "../../../engine/triggers/cron/job-message.ts";
import { cronJobCreateSchema, cronJobPatchSchema } from "../../../engine/triggers/cron/normalize-job.ts";
import { HttpError } from "../http/http-error.ts";
import { decodeUtf8 } from "../http/read-request.ts";
import { REPLAYED } from "../http/send-reply.ts";
import { accepted, acceptOnce, limitedBehalf, postingOf } from "../messages/accept-once.ts";
import { profilesOf } from "../messages/address.ts";
import { defineRoute, type Route } from "../routing/route.ts";
import { heartbeatSchema, jobOutcomeSchema, scheduledJobSchema } from "../schemas/job.ts";
import { listSchema, pageSchema } from "../schemas/list.ts";
import { acceptedSchema } from "../schemas/message.ts";
import { assertMayChange, assertReachesJob, jobId, listJobs, makerFor, requireJob } from "./job-access.ts";
import { limitQuery, nextOf, numberQuery } from "./params.ts";

const jobParams = z.object({ job: z.string().min(1).max(256) });
const jobBody = z.looseObject({});

const jobsRoute = defineRoute({
  name: "listJobs",
  method: "GET",
  path: "/api/cron",
  access: "read",
  own: true,
  action: "cron",
  tag: "triggers",
  summary: "List cron jobs with their next times",
  query: z.strictObject({
    all: z.enum(["true", "false"]).optional(),
    after: z.string().max(256).optional(),
    limit: limitQuery(1_000, 200),
  }),
  output: pageSchema(scheduledJobSchema, "after", z.string()),
  async handle(call) {
    const { all, after, limit } = call.query;
    return { json: await listJobs(call, { includeDisabled: all === "true", after, limit }) };
  },
});

const jobRoute = defineRoute({
  name: "getJob",
  method: "GET",
  path: "/api/cron/:job",
  access: "read",
  own: true,
  action: "cron",
  tag: "triggers",
  summary: "One cron job",
  params: jobParams,
  output: scheduledJobSchema,
  handle: async (call) => ({ json: await requireJob(call, call.params.job) }),
});

const addJobRoute = defineRoute({
  name: "addJob",
  method: "POST",
  path: "/api/cron",
  access: "operate",
  own: true,
  action: "cron_add",
  tag: "triggers",
  summary: "Add a cron job",
  example: {
    name: "nightly report",
    schedule: { kind: "cron", expr: "0 3 * * *", tz: "Europe/Rome" },
    payload: { kind: "agentTurn", message: "Report on the orders of the last day.", deliver: true },
  },
  describes: cronJobCreateSchema,
  body: jobBody,
  output: { 201: scheduledJobSchema },
  async handle(call) {
    const { context, body, record } = call;
    const also = (json: JobView) => record({ status: 201 as const, json });
    return { status: 201 as const, json: await context.triggers.cron.add(body, await makerFor(call, body), also) };
  },
});

const changeJobRoute = defineRoute({
  name: "changeJob",
  method: "PATCH",
  path: "/api/cron/:job",
  access: "operate",
  own: true,
  action: "cron",
  tag: "triggers",
  summary: "Change a cron job, or turn it off or on",
  params: jobParams,
  example: { enabled: false, schedule: { kind: "every", everyMs: 3_600_000 } },
  describes: cronJobPatchSchema,
  body: jobBody,
  output: scheduledJobSchema,
  async handle(call) {
    const job = await jobId(call, call.params.job);
    await assertMayChange(call, job, call.body);
    return { json: await call.context.triggers.cron.update(job, call.body, limitedBehalf(call)) };
  },
});

const removeJobRoute = defineRoute({
  name: "removeJob",
  method: "DELETE",
  path: "/api/cron/:job",
  access: "operate",
  own: true,
  action: "cron",
  tag: "triggers",
  summary: "Remove a cron job",
  params: jobParams,
  output: z.strictObject({ removed: z.string() }),
  async handle(call) {
    const job = await jobId(call, call.params.job);
    await assertMayChange(call, job);
    await call.context.triggers.cron.remove(job);
    return { json: { removed: job } };
  },
});

const runJobRoute = defineRoute({
  name: "runJob",
  method: "POST",
  path: "/api/cron/:job/run",
  access: "operate",
  own: true,
  action: "cron",
  tag: "triggers",
  summary: "Run a cron job now, outside of its schedule",
  params: jobParams,
  output: { 202: z.strictObject({ slot: z.string() }) },
  async handle(call) {
    const { context, record } = call;
    const job = await jobId(call, call.params.job);
    await assertReachesJob(call, job);
    const { behalf: by } = await postingOf(call);
    const also = (json: { slot: string }) => record({ status: 202 as const, json });
    return { status: 202 as const, json: await context.triggers.cron.run(job, { by, also }) };
  },
});

const jobRunsRoute = defineRoute({
  name: "listJobRuns",
  method: "GET",
  path: "/api/cron/:job/runs",
  access: "read",
  own: true,
  action: "cron",
  tag: "triggers",
  summary: "The outcome of a job's due times, newest first",
  params: jobParams,
  query: z.strictObject({ before: numberQuery(), limit: limitQuery(1_000, 100) }),
  output: pageSchema(jobOutcomeSchema, "before", z.number()),
  async handle(call) {
    const job = await jobId(call, call.params.job);
    const { before, limit } = call.query;
    await assertReachesJob(call, job);
    const runs = await call.context.triggers.cron.runs(job, { limit, beforeN: before });
    return {
      json: listOf(
        runs,
        nextOf(runs, limit, ({ n }) => n),
      ),
    };
  },
});

const heartbeatRoute = defineRoute({
  name: "listHeartbeats",
  method: "GET",
  path: "/api/heartbeat",
  access: "read",
  action: "heartbeat_list",
  tag: "triggers",
  summary: "The heartbeat settings and the outcome of the last ticks; `limit`: how many of each profile",
  query: z.strictObject({ limit: limitQuery(1_000, 10) }),
  output: listSchema(heartbeatSchema),
  handle: async ({ context, query }) => ({ json: listOf(await context.triggers.heartbeat.status(query.limit)) }),
});

const runHeartbeatRoute = defineRoute({
  name: "runHeartbeat",
  method: "POST",
  path: "/api/heartbeat/run",
  access: "operate",
  action: "heartbeat_run",
  tag: "triggers",
  summary: "Request a tick soon, of one profile or of all that have a heartbeat; several requests become one tick",
  example: { profile: "main" },
  body: z.strictObject({ profile: z.string().min(1).max(100).optional() }),
  bodyOptional: true,
  output: { 202: z.strictObject({ asked: z.array(z.string()) }) },
  async handle({ context, body: { profile } }) {
    if (!context.settings.current.cron.enabled) {
      throw new HttpError(409, "disabled", "Triggers are disabled on this node.", {
        hint: "Set cron.enabled to true.",
      });
    }
    const profiles = (await context.triggers.heartbeat.status(1)).map((status) => status.profile);
    const asked = profiles.filter((name) => profile === undefined || name === profile);
    if (asked.length === 0) throw new NotFoundError(`No profile ${profile} has a heartbeat.`);
    for (const name of asked) context.triggers.heartbeat.requestNow("manual", name);
    return { status: 202 as const, json: { asked } };
  },
});

const wakeRoute = defineRoute({
  name: "wake",
  method: "POST",
  path: "/api/wake",
  access: "operate",
  action: "manage.agent",
  tag: "triggers",
  summary: "Send a text to a profile's main conversation: now, or with its next heartbeat",
  example: { text: "The build is red.", mode: "now" },
  body: z.strictObject({
    text: z.string().trim().min(1),
    mode: cronWakeModeSchema.default(defaultWakeMode()),
    profile: z.string().min(1).max(100).optional(),
  }),
  accepts: true,
  output: { 202: acceptedSchema },
  async handle(call) {
    const { context, body } = call;
    const { profile = DEFAULT_PROFILE } = body;
    const config = context.settings.current;
    if (!profilesOf(config).includes(profile))
      throw new NotFoundError(unknownName("profile", profile, profilesOf(config)));
    const silent = body.mode === "now" ? undefined : true;
    const message = {
      to: mainAddress({ agentId: profile }, config.session.mainKey),
      body: { kind: "system", text: body.text, origin: "cron:wake", silent },
      delivery: silent ? undefined : await context.agents.people.addressOf(OWNER),
    } as const;
    return accepted(await acceptOnce(call, () => message));
  },
});

const hookRoute = defineRoute({
  name: "callHook",
  method: "POST",
  path: "/hooks/:hook",
  access: "hook",
  lenient: true,
  action: "hook",
  tag: "triggers",
  summary: "Call a webhook; the message is durable when the answer is 202",
  params: z.object({ hook: z.string().min(1).max(100) }),
  output: { 202: z.strictObject({ ok: z.literal(true), messageId: z.string() }) },
  accepts: true,
  async handle({ context, params: { hook }, raw, incoming }) {
    const headers = Object.fromEntries(
      Object.entries(incoming.headers).map(([name, value]) => [name, Array.isArray(value) ? value[0] : value]),
    );
    const body = decodeUtf8(raw);
    const answer = await context.triggers.acceptHook(context.agents, hook, { headers, body });
    // The trigger's own error becomes the error shape of every route.
    if (answer.status !== 202) throw new HttpError(answer.status, "hook_refused", answer.body.error);
    return { status: 202 as const, json: answer.body, headers: answer.isRepeated ? REPLAYED : undefined };
  },
});

export const triggerRoutes: readonly Route[] = [
  jobsRoute,
  jobRoute,
  addJobRoute,
  changeJobRoute,
  removeJobRoute,
  runJobRoute,
  jobRunsRoute,
  heartbeatRoute,
  runHeartbeatRoute,
  wakeRoute,
  hookRoute,
];
