/** Runs: the latest of an agent, one run, waiting for its end, aborting it, steering it, and streams of events. */
import { z } from "zod";
import type { RunId } from "../../../core/ids.ts";
import { listOf } from "../../../core/list.ts";
import { readRunResult } from "../../../engine/runs/run-result.ts";
import { streamAgent } from "../events/agent-stream.ts";
import { parseEventId } from "../events/event-id.ts";
import { assertStreamAllowed } from "../events/open-event-stream.ts";
import { endPosition, firstPosition } from "../events/run-positions.ts";
import { HttpError } from "../http/http-error.ts";
import { ANSWERED, REPLAYED } from "../http/send-reply.ts";
import { postingOf } from "../messages/accept-once.ts";
import { mailboxOfAgent } from "../messages/mailbox-of.ts";
import { withRunNames } from "../reads/with-names.ts";
import { eventStream } from "../routing/output.ts";
import { defineRoute, type Route } from "../routing/route.ts";
import { pageSchema } from "../schemas/list.ts";
import { runRecordSchema, runResultSchema, runWaitSchema } from "../schemas/run.ts";
import {
  agentParams,
  assertOwnRun,
  limitQuery,
  nextOf,
  requireAgent,
  requireRun,
  runNotFound,
  runParams,
  waitQuery,
} from "./params.ts";

const agentRunsRoute = defineRoute({
  name: "listRuns",
  method: "GET",
  path: "/api/agents/:agent/runs",
  access: "read",
  action: "session_status",
  own: true,
  tag: "runs",
  summary: "An agent's latest runs, newest first",
  params: agentParams,
  query: z.strictObject({ before: runParams.shape.run.optional(), limit: limitQuery(200, 20) }),
  output: pageSchema(runRecordSchema, "before", z.string()),
  async handle({ context, principal, params, query: { before, limit } }) {
    const agent = await requireAgent({ context, principal }, params.agent);
    const { store } = context.ports;
    const runs = await store.runs(agent.id, { limit, before: before as RunId | undefined });
    return {
      json: listOf(
        await withRunNames(store, agent, runs),
        nextOf(runs, limit, (run) => run.id),
      ),
    };
  },
});

const runRoute = defineRoute({
  name: "getRun",
  method: "GET",
  path: "/api/runs/:run",
  access: "read",
  action: "session_status",
  own: true,
  tag: "runs",
  summary: "One run: its state, its record, and its result if it has ended",
  params: runParams,
  output: z.strictObject({
    state: z.enum(["active", "compacting", "ended", "queued", "streaming", "suspended"]),
    run: runRecordSchema.nullable(),
    result: runResultSchema.nullable(),
  }),
  async handle(call) {
    const { context, params } = call;
    const runId = params.run as RunId;
    await assertOwnRun(call, runId);
    const state = await context.agents.runs.state(runId);
    if (state === "unknown") throw runNotFound(runId);
    const run = await context.ports.store.run(runId);
    const result = await readRunResult(context.ports.store, runId);
    const { store } = context.ports;
    const agent = run && (await store.agent(run.agentId));
    const [named] = run && agent ? await withRunNames(store, agent, [run]) : [];
    return { json: { state, run: named ?? run ?? null, result: result ?? null } };
  },
});

const waitRoute = defineRoute({
  name: "waitForRun",
  method: "GET",
  path: "/api/runs/:run/wait",
  access: "read",
  action: "session_status",
  own: true,
  tag: "runs",
  summary: "Wait for a run's end, 15 seconds or `timeoutMs`; a timeout is a normal answer",
  params: runParams,
  query: waitQuery,
  output: runWaitSchema,
  async handle(call) {
    const {
      context,
      params,
      query: { timeoutMs },
    } = call;
    await assertOwnRun(call, params.run);
    return { json: await context.agents.runs.wait(params.run as RunId, timeoutMs) };
  },
});

const abortRoute = defineRoute({
  name: "abortRun",
  method: "POST",
  path: "/api/runs/:run/abort",
  access: "operate",
  action: "manage.agent",
  tag: "runs",
  summary: "Abort a run on any node; its text so far stays in the history, marked as aborted",
  params: runParams,
  output: z.strictObject({ aborted: z.boolean().describe("False if it had already ended.") }),
  async handle({ context, params, keyed, record }) {
    const runId = params.run as RunId;
    if ((await context.agents.runs.state(runId)) === "unknown") throw runNotFound(runId);
    const also = keyed && ((aborted: boolean) => record({ json: { aborted } }));
    return { json: { aborted: await context.agents.runs.abort(runId, "person", also) } };
  },
});

const steerRoute = defineRoute({
  name: "steerRun",
  method: "POST",
  path: "/api/runs/:run/steer",
  access: "operate",
  action: "manage.agent",
  tag: "runs",
  summary: "Add a message to a run; the run takes it at its next step",
  params: runParams,
  example: { text: "Only the orders of today." },
  body: z.strictObject({ text: z.string().trim().min(1) }),
  accepts: true,
  output: { 202: z.strictObject({ steered: z.boolean() }) },
  async handle(call) {
    const { context, params, body, before } = call;
    const reply = { status: 202 as const, json: { steered: true } };
    if (before) return { ...reply, headers: REPLAYED };
    const runId = params.run as RunId;
    if (await context.agents.runs.steer(runId, body.text, await postingOf(call))) return reply;
    if ((await context.agents.runs.state(runId)) === "unknown") throw runNotFound(runId);
    throw new HttpError(409, "not_streaming", "The run cannot take a message now.", {
      hint: "Send the text to the agent as a message.",
    });
  },
});

const runEventsRoute = defineRoute({
  name: "streamRun",
  method: "GET",
  path: "/api/runs/:run/events",
  access: "read",
  action: "sessions_history",
  own: true,
  tag: "streams",
  summary: "Stream the events of a run until it ends; `Last-Event-ID` continues an earlier stream",
  params: runParams,
  output: eventStream(
    "`entry`, `delta`, `tool_start`, `tool_update`, `tool_end`, `approval`, `step`, `restart`, `error`, `end`",
  ),
  async handle(call) {
    assertStreamAllowed(call);
    const run = await requireRun(call, call.params.run);
    const seen = parseEventId(call.header("last-event-id"));
    const from = seen ? 0 : await firstPosition(call.context.ports.store, run);
    streamAgent(call, { agentId: run.agentId, runId: run.id, seen, from, until: endPosition(run) });
    return ANSWERED;
  },
});

const agentEventsRoute = defineRoute({
  name: "streamAgent",
  method: "GET",
  path: "/api/agents/:agent/events",
  access: "read",
  action: "sessions_history",
  own: true,
  tag: "streams",
  summary: "Stream the events of an agent, from now on or after `Last-Event-ID`",
  params: agentParams,
  output: eventStream(
    "`start`, `entry`, `delta`, `tool_start`, `tool_update`, `tool_end`, `approval`, `step`, `restart`, `error`, `end`, `delivery`",
  ),
  async handle(call) {
    assertStreamAllowed(call);
    const agent = await requireAgent(call, call.params.agent);
    const seen = parseEventId(call.header("last-event-id"));
    const mailbox = await mailboxOfAgent(call.context.agents.people, agent);
    streamAgent(call, { agentId: agent.id, seen, from: agent.nextPos, mailbox });
    return ANSWERED;
  },
});

export const runRoutes: readonly Route[] = [
  agentRunsRoute,
  agentEventsRoute,
  runRoute,
  waitRoute,
  abortRoute,
  steerRoute,
  runEventsRoute,
];
