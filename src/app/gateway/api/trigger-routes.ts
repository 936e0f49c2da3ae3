/** Schedules, the heartbeat and webhooks over HTTP. A hook proves itself by what its configuration says, not by a token of ours. */
import { z } from "zod";
import { DEFAULT_PROFILE } from "../../../core/agent/agent.ts";
import { NotFoundError } from "../../../core/errors.ts";
import { messageId } from "../../../core/ids.ts";
import { mainAddress } from "../../../engine/triggers/cron/job-message.ts";
import { HttpError } from "../http/http-error.ts";
import { defineRoute } from "../http/route.ts";
import { profilesOf } from "../openai/address.ts";
import { acceptOnce } from "./accept-once.ts";
import { limitQuery, numberQuery } from "./inputs.ts";

const jobParams = z.object({ job: z.string().min(1).max(256) });
const jobBody = z.looseObject({});

export const jobsRoute = defineRoute({
  method: "GET",
  path: "/api/cron",
  access: "read",
  tag: "triggers",
  summary: "List cron jobs with their next times",
  query: z.object({
    all: z.enum(["true", "false"]).optional(),
    after: z.string().max(256).optional(),
    limit: limitQuery(1_000, 200),
  }),
  answers: { status: 200, holds: "`{ jobs: [...] }`, each with `when` in words and `nextTimes`" },
  async handle({ context, query: { all, after, limit } }) {
    return { json: { jobs: await context.triggers.cron.list({ includeDisabled: all === "true", after, limit }) } };
  },
});

export const jobRoute = defineRoute({
  method: "GET",
  path: "/api/cron/:job",
  access: "read",
  tag: "triggers",
  summary: "One cron job",
  params: jobParams,
  answers: { status: 200, holds: "the job" },
  handle: async ({ context, params: { job } }) => ({ json: await context.triggers.cron.get(job) }),
});

export const addJobRoute = defineRoute({
  method: "POST",
  path: "/api/cron",
  access: "operate",
  tag: "triggers",
  summary: "Add a cron job",
  body: jobBody,
  answers: { status: 201, holds: "the job" },
  handle: async ({ context, body }) => ({ status: 201, json: await context.triggers.cron.add(body) }),
});

export const changeJobRoute = defineRoute({
  method: "PATCH",
  path: "/api/cron/:job",
  access: "operate",
  tag: "triggers",
  summary: "Change a cron job, or turn it off or on",
  params: jobParams,
  body: jobBody,
  answers: { status: 200, holds: "the job as it is now" },
  handle: async ({ context, params: { job }, body }) => ({ json: await context.triggers.cron.update(job, body) }),
});

export const removeJobRoute = defineRoute({
  method: "DELETE",
  path: "/api/cron/:job",
  access: "operate",
  tag: "triggers",
  summary: "Remove a cron job",
  params: jobParams,
  answers: { status: 200, holds: "`{ removed }`" },
  async handle({ context, params: { job } }) {
    await context.triggers.cron.remove(job);
    return { json: { removed: job } };
  },
});

export const runJobRoute = defineRoute({
  method: "POST",
  path: "/api/cron/:job/run",
  access: "operate",
  tag: "triggers",
  summary: "Run a cron job now, outside of its schedule",
  params: jobParams,
  answers: { status: 202, holds: "`{ slot }`, by which the run is found among the job's runs" },
  async handle({ context, params: { job } }) {
    return { status: 202, json: await context.triggers.cron.run(job) };
  },
});

export const jobRunsRoute = defineRoute({
  method: "GET",
  path: "/api/cron/:job/runs",
  access: "read",
  tag: "triggers",
  summary: "What became of a job's due times, newest first",
  params: jobParams,
  query: z.object({ before: numberQuery(), limit: limitQuery(1_000, 100) }),
  answers: { status: 200, holds: "`{ runs: [...], next }`; `next` goes into `before`" },
  async handle({ context, params: { job }, query: { before, limit } }) {
    const runs = await context.triggers.cron.runs(job, { limit, beforeN: before });
    return { json: { runs, next: runs.length === limit ? runs.at(-1)?.n : null } };
  },
});

export const heartbeatRoute = defineRoute({
  method: "GET",
  path: "/api/heartbeat",
  access: "read",
  tag: "triggers",
  summary: "How the heartbeat is set and what its last ticks did",
  answers: { status: 200, holds: "`{ heartbeats: [...] }`" },
  handle: async ({ context }) => ({ json: { heartbeats: await context.triggers.heartbeat.status() } }),
});

export const runHeartbeatRoute = defineRoute({
  method: "POST",
  path: "/api/heartbeat/run",
  access: "operate",
  tag: "triggers",
  summary: "Ask for a tick soon, of one profile or of all that have a heartbeat; several requests are one",
  body: z.strictObject({ profile: z.string().min(1).max(100).optional() }),
  bodyOptional: true,
  answers: { status: 202, holds: "`{ asked: [profile, …] }`; what became of it is in GET /api/heartbeat" },
  async handle({ context, body: { profile } }) {
    if (!context.config().cron.enabled) {
      throw new HttpError(409, "disabled", "Nothing is due by itself here.", { hint: "Set cron.enabled to true." });
    }
    const profiles = (await context.triggers.heartbeat.status(1)).map((one) => one.profile);
    const asked = profiles.filter((name) => profile === undefined || name === profile);
    if (asked.length === 0) throw new NotFoundError(`No profile ${profile} has a heartbeat.`);
    for (const name of asked) context.triggers.heartbeat.requestNow("manual", name);
    return { status: 202, json: { asked } };
  },
});

export const wakeRoute = defineRoute({
  method: "POST",
  path: "/api/wake",
  access: "operate",
  tag: "triggers",
  summary: "Tell a profile's main conversation something: now, or with its next heartbeat",
  body: z.strictObject({
    text: z.string().trim().min(1).max(100_000),
    mode: z.enum(["now", "next-heartbeat"]).default("next-heartbeat"),
    profile: z.string().min(1).max(100).optional(),
  }),
  accepts: true,
  answers: { status: 202, holds: "`{ agentId, seq, messageId, duplicate }`" },
  async handle(call) {
    const { context, body } = call;
    const { profile = DEFAULT_PROFILE } = body;
    const config = context.config();
    if (!profilesOf(config).includes(profile)) throw new NotFoundError(`There is no profile ${profile}.`);
    const { agentId, seq, duplicate } = await acceptOnce(call, {
      to: mainAddress({ agentId: profile }, config.session.mainKey),
      body: { kind: "system", text: body.text, origin: "cron:wake", ...(body.mode === "now" ? {} : { silent: true }) },
    });
    return { status: 202, json: { agentId, seq, messageId: messageId(agentId, seq), duplicate } };
  },
});

export const hookRoute = defineRoute({
  method: "POST",
  path: "/hooks/:hook",
  access: "hook",
  tag: "triggers",
  summary: "A webhook: accepted after the commit",
  params: z.object({ hook: z.string().min(1).max(100) }),
  answers: { status: 202, holds: "`{ ok, messageId, duplicate }`" },
  accepts: true,
  async handle({ context, params: { hook }, raw, incoming }) {
    const headers = Object.fromEntries(
      Object.entries(incoming.headers).map(([name, value]) => [name, Array.isArray(value) ? value[0] : value]),
    );
    let body: string;
    try {
      body = new TextDecoder("utf-8", { fatal: true }).decode(raw);
    } catch (cause) {
      throw new HttpError(400, "bad_body", "The body is not UTF-8.", { cause });
    }
    const { status, body: json } = await context.triggers.acceptHook(context.agents, hook, { headers, body });
    // Errors have one shape, whoever found them.
    if (typeof json.error === "string") throw new HttpError(status, "hook_refused", json.error);
    return { status, json };
  },
});
