/** Runs: where one stands, waiting for its end, ending it, saying something into it, and following it. */
import { z } from "zod";
import { NotFoundError } from "../../../core/errors.ts";
import { readEntry } from "../../../core/history/entry.ts";
import type { RunId } from "../../../core/ids.ts";
import type { RunRecord } from "../../../core/run/run.ts";
import { readRunResult } from "../../../engine/runs/run-result.ts";
import { streamAgent } from "../events/agent-stream.ts";
import { parseEventId } from "../events/event-id.ts";
import { requireRoom } from "../events/open-event-stream.ts";
import type { GatewayContext } from "../gateway-context.ts";
import { HttpError } from "../http/http-error.ts";
import { ANSWERED, defineRoute } from "../http/route.ts";
import { agentOf, agentParams, runOf, runParams, waitQuery } from "./inputs.ts";

export const runRoute = defineRoute({
  method: "GET",
  path: "/api/runs/:run",
  access: "read",
  tag: "runs",
  summary: "One run: its state, its record, and its result if it has ended",
  params: runParams,
  answers: { status: 200, holds: "`{ state, run, result }`" },
  async handle({ context, params }) {
    const runId = params.run as RunId;
    const state = await context.agents.runs.state(runId);
    if (state === "unknown") throw new NotFoundError(`There is no run ${runId}.`);
    const run = await context.ports.store.run(runId);
    const result = await readRunResult(context.ports.store, runId);
    return { json: { state, run: run ?? null, result: result ?? null } };
  },
});

export const waitRoute = defineRoute({
  method: "GET",
  path: "/api/runs/:run/wait",
  access: "read",
  tag: "runs",
  summary: "Wait for a run's end, 15 seconds or as long as said; always answers",
  params: runParams,
  query: waitQuery,
  answers: { status: 200, holds: '`{ status: "ended" | "timeout" | "unknown", … }`' },
  async handle({ context, params, query: { timeoutMs } }) {
    return { json: await context.agents.runs.wait(params.run as RunId, timeoutMs) };
  },
});

export const abortRoute = defineRoute({
  method: "POST",
  path: "/api/runs/:run/abort",
  access: "operate",
  tag: "runs",
  summary: "End a run, wherever it runs; what it had said is kept and marked",
  params: runParams,
  answers: { status: 200, holds: "`{ aborted: true }`; false where it had ended already" },
  async handle({ context, params }) {
    const runId = params.run as RunId;
    const aborted = await context.agents.runs.abort(runId);
    if (!aborted && (await context.agents.runs.state(runId)) === "unknown") {
      throw new NotFoundError(`There is no run ${runId}.`);
    }
    return { json: { aborted } };
  },
});

export const steerRoute = defineRoute({
  method: "POST",
  path: "/api/runs/:run/steer",
  access: "operate",
  tag: "runs",
  summary: "Say something into a run; it is taken at its next step",
  params: runParams,
  body: z.strictObject({ text: z.string().trim().min(1).max(1_000_000) }),
  answers: { status: 202, holds: "`{ steered: true }`" },
  async handle({ context, params, body, principal }) {
    await context.allowances.admit(principal, undefined);
    const runId = params.run as RunId;
    if (await context.agents.runs.steer(runId, body.text)) return { status: 202, json: { steered: true } };
    if ((await context.agents.runs.state(runId)) === "unknown") throw new NotFoundError(`There is no run ${runId}.`);
    throw new HttpError(409, "not_streaming", "The run is not at a point where something can be said into it.", {
      hint: "Send the text to the agent as a message.",
    });
  },
});

export const runEventsRoute = defineRoute({
  method: "GET",
  path: "/api/runs/:run/events",
  access: "read",
  tag: "streams",
  summary: "Follow a run until it ends; `Last-Event-ID` goes on where a reader left",
  params: runParams,
  answers: {
    status: 200,
    holds: "events: entry, delta, tool_start, tool_update, tool_end, step, restart, error, end",
    type: "text/event-stream",
  },
  async handle(call) {
    requireRoom(call);
    const run = await runOf(call.context, call.params.run);
    const until = untilOf(run);
    const seen = parseEventId(call.header("last-event-id"));
    const from = seen ? 0 : await firstPosition(call.context, run);
    streamAgent(call, { agentId: run.agentId, runId: run.id, seen, from, until });
    return ANSWERED;
  },
});

/** The place behind a run's last entry, where it has ended. */
function untilOf({ state, body }: RunRecord): number | undefined {
  return state === "ended" && body.lastPos !== undefined ? body.lastPos + 1 : undefined;
}

const PORTION = 100;
const FURTHEST = 2_000;

/** Entries of a run stand together: walked back to until another's begin. */
async function firstPosition(context: GatewayContext, run: RunRecord): Promise<number> {
  let before = untilOf(run);
  let first: number | undefined;
  for (let seen = 0; seen < FURTHEST; seen += PORTION) {
    const lines = await context.ports.store.linesBack(run.agentId, { limit: PORTION, before });
    for (const { position, line } of lines) {
      const read = readEntry(line);
      const isOurs = read.kind === "entry" && "runId" in read.entry && read.entry.runId === run.id;
      if (isOurs) first = position;
      else if (first !== undefined) return first;
    }
    before = lines.at(-1)?.position;
    if (before === undefined || lines.length < PORTION) break;
  }
  return first ?? before ?? 0;
}

export const agentEventsRoute = defineRoute({
  method: "GET",
  path: "/api/agents/:agent/events",
  access: "read",
  tag: "streams",
  summary: "Follow an agent: from now on, or from where `Last-Event-ID` says",
  params: agentParams,
  answers: {
    status: 200,
    holds: "events: start, entry, delta, tool_start, tool_update, tool_end, step, restart, error, end",
    type: "text/event-stream",
  },
  async handle(call) {
    requireRoom(call);
    const { id, nextPos } = await agentOf(call.context, call.params.agent);
    streamAgent(call, { agentId: id, seen: parseEventId(call.header("last-event-id")), from: nextPos });
    return ANSWERED;
  },
});
