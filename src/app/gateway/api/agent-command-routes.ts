/** Commands to an agent: reset, stop, compact, branch, change its state, stop or start its tree, remove it. */
import { z } from "zod";
import { OWNERS_FIELDS } from "../../../core/agent/exec-fields.ts";
import { type StatePatch, statePatchKeys, statePatchSchema } from "../../../core/agent/patch-state.ts";
import { NotFoundError } from "../../../core/errors.ts";
import type { EntryId } from "../../../core/ids.ts";
import { holds } from "../../../core/rights/scope.ts";
import { compactResultSchema } from "../../../core/run/compact-result.ts";
import { branchMessage } from "../../../engine/agents/sessions/session-control.ts";
import { isOwners } from "../auth/actor.ts";
import type { Principal } from "../auth/principal.ts";
import { HttpError } from "../http/http-error.ts";
import { accepted, acceptOnce } from "../messages/accept-once.ts";
import { readCompaction } from "../messages/read-compaction.ts";
import { settledWithin } from "../messages/settled-within.ts";
import { defineRoute, type Route } from "../routing/route.ts";
import { acceptedSchema } from "../schemas/message.ts";
import { addressOf, agentParams, requireAgent } from "./params.ts";

const BRANCH_MS = 30_000;

/** Reset and stop are messages in the inbox: durable, in order, visible. */
const messageCommandRoute = (
  name: "resetAgent" | "stopAgentRun",
  command: "reset" | "stop",
  summary: string,
  body: { readonly kind: "reset"; readonly by: "person" } | { readonly kind: "stop" },
) =>
  defineRoute({
    name,
    method: "POST",
    path: `/api/agents/:agent/${command}`,
    access: "operate",
    action: "manage.agent",
    tag: "agents",
    summary,
    params: agentParams,
    accepts: true,
    output: { 202: acceptedSchema },
    async handle(call) {
      const message = async () => ({ to: await addressOf(call, call.params.agent), body });
      return accepted(await acceptOnce(call, message));
    },
  });

const resetRoute = messageCommandRoute("resetAgent", "reset", "Start a new session; the current run is aborted", {
  kind: "reset",
  by: "person",
});
const stopRoute = messageCommandRoute("stopAgentRun", "stop", "Abort the agent's current run", { kind: "stop" });

const compactRoute = defineRoute({
  name: "compactAgent",
  method: "POST",
  path: "/api/agents/:agent/compact",
  access: "operate",
  action: "manage.agent",
  tag: "agents",
  summary: "Replace the conversation so far with a summary and continue from it",
  params: agentParams,
  example: { instructions: "Keep the names of the files.", waitSeconds: 60 },
  body: z.strictObject({
    instructions: z.string().trim().min(1).optional(),
    /** Waits this long for the result, which then comes with a 200. */
    waitSeconds: z.number().min(0).max(600).optional(),
  }),
  bodyOptional: true,
  accepts: true,
  output: {
    202: acceptedSchema.describe("It waits its turn in the inbox."),
    200: acceptedSchema.extend({ compaction: compactResultSchema }).describe("It ended within `waitSeconds`."),
  },
  async handle(call) {
    const { instructions, waitSeconds } = call.body;
    const message = async () => ({
      to: await addressOf(call, call.params.agent),
      body: { kind: "compact", instructions } as const,
    });
    const posted = await acceptOnce(call, message);
    const reply = accepted(posted);
    if (!waitSeconds) return reply;
    const { agentId, seq } = posted;
    await settledWithin(call.context, agentId, seq, waitSeconds * 1_000);
    const compaction = await readCompaction(call.context.ports.store, agentId, seq);
    return compaction ? { status: 200 as const, json: { ...reply.json, compaction } } : reply;
  },
});

const branchRoute = defineRoute({
  name: "branchAgent",
  method: "POST",
  path: "/api/agents/:agent/branch",
  access: "operate",
  action: "manage.agent",
  tag: "agents",
  summary: "Go back to an entry of the current session; the next message continues from there",
  params: agentParams,
  example: { entryId: "9f2c1b7a", summary: "We tried the other way first." },
  body: z.strictObject({
    entryId: z.string().min(1).max(100),
    /** A summary of the entries that are left behind, for the agent. */
    summary: z.string().trim().min(1).optional(),
    /** False: does not wait until it has happened. */
    wait: z.boolean().optional(),
  }),
  output: {
    200: z.strictObject({
      agentId: z.string(),
      leaf: z.string().describe("The entry that the next message continues."),
    }),
    202: acceptedSchema.describe("With `wait: false`: it waits its turn."),
  },
  errors: { 504: "It waits its turn for longer than 30 seconds. It will still happen." },
  async handle(call) {
    const { context, params } = call;
    const { entryId, summary, wait = true } = call.body;
    const posted = await acceptOnce(call, async () => {
      const to = await addressOf(call, params.agent);
      return { to, body: await branchMessage(context.ports.store, to.agentId, entryId as EntryId, summary) };
    });
    if (!wait) return accepted(posted);
    await context.agents.waitForMessage(posted, BRANCH_MS);
    const { id, leaf } = await requireAgent(call, posted.agentId);
    return { json: { agentId: id, leaf } };
  },
});

const patchStateRoute = defineRoute({
  name: "patchAgentState",
  method: "PATCH",
  path: "/api/agents/:agent/state",
  access: "operate",
  action: "manage.agent",
  tag: "agents",
  summary: "Override an agent's settings: model, thinking, queue, label and others; null removes an override",
  params: agentParams,
  example: { modelOverride: "anthropic/claude-sonnet-5", thinkingLevel: "low", label: null },
  describes: statePatchSchema,
  body: statePatchKeys,
  output: { 202: acceptedSchema },
  async handle({ context, principal, params, body }) {
    const { id } = await requireAgent({ context, principal }, params.agent);
    const field = OWNERS_FIELDS.find((name) => Object.hasOwn(body, name));
    if (field !== undefined) assertAdmin(principal, field);
    const posted = await context.agents.sessions.patch(id, body as StatePatch);
    if (posted.status === "stale") throw new NotFoundError("The change was not accepted. Send it again.");
    return accepted({ ...posted, isRepeated: false });
  },
});

/** Settings of the gate: a token that only operates agents does not widen what they may do. */
function assertAdmin(principal: Principal, field: string): void {
  if (isOwners(principal) && holds(principal.scopes, "admin")) return;
  throw new HttpError(403, "denied", `Only the owner sets ${field}.`, {
    hint: "Use a token of the owner with the scope admin.",
  });
}

const stopTreeRoute = defineRoute({
  name: "stopAgentTree",
  method: "POST",
  path: "/api/agents/:agent/stop-tree",
  access: "operate",
  action: "manage.agent",
  tag: "agents",
  summary: "Stop an agent and all its descendants; none of them starts a run after the answer",
  params: agentParams,
  output: z.strictObject({ stopped: z.string() }),
  async handle({ context, params, principal, record }) {
    const { id } = await requireAgent({ context, principal }, params.agent);
    const reply = { json: { stopped: id } };
    await context.agents.lifecycle.stop(id, `stopped by ${principal.name}`, record(reply));
    return reply;
  },
});

const startRoute = defineRoute({
  name: "startAgent",
  method: "POST",
  path: "/api/agents/:agent/start",
  access: "operate",
  action: "manage.agent",
  tag: "agents",
  summary: "Undo a stop",
  params: agentParams,
  output: z.strictObject({ started: z.string() }),
  async handle({ context, principal, params, record }) {
    const { id } = await requireAgent({ context, principal }, params.agent);
    const reply = { json: { started: id } };
    await context.agents.lifecycle.startAgain(id, record(reply));
    return reply;
  },
});

const removeRoute = defineRoute({
  name: "removeAgent",
  method: "DELETE",
  path: "/api/agents/:agent",
  access: "admin",
  action: "remove_permanent_agent",
  tag: "agents",
  summary: "Stop an agent and all its descendants, and remove it permanently",
  params: agentParams,
  /** `idle`: refuses an agent that has work, instead of stopping it and waiting until it rests. */
  query: z.strictObject({ idle: z.enum(["true", "false"]).optional() }),
  output: z.strictObject({ removed: z.string() }),
  errors: { 403: "With `idle=true`: the agent has work." },
  async handle({ context, principal, params, query }) {
    const { id } = await requireAgent({ context, principal }, params.agent);
    await (query.idle === "true" ? context.agents.lifecycle.removeIdle(id) : context.agents.lifecycle.remove(id));
    return { json: { removed: id } };
  },
});

export const agentCommandRoutes: readonly Route[] = [
  resetRoute,
  stopRoute,
  stopTreeRoute,
  startRoute,
  removeRoute,
  patchStateRoute,
  compactRoute,
  branchRoute,
];
