/** Commands to an agent: reset, stop, compact, branch, change its state, stop or start its tree, remove it. */
import { z } from "zod";
import type { StatePatch } from "../../../core/agent/patch-state.ts";
import { NotFoundError } from "../../../core/errors.ts";
import type { EntryId } from "../../../core/ids.ts";
import { accepted, acceptOnce } from "../messages/accept-once.ts";
import { defineRoute, type Route } from "../routing/route.ts";
import { agentParams, requireAgent } from "./params.ts";

const BRANCH_MS = 30_000;

const ACCEPTED = "`{ agentId, seq, messageId, duplicate }`";

/** Reset and stop are messages in the inbox: durable, in order, visible. */
const messageCommandRoute = (
  name: "reset" | "stop",
  summary: string,
  body: { readonly kind: "reset"; readonly by: "person" } | { readonly kind: "stop" },
) =>
  defineRoute({
    method: "POST",
    path: `/api/agents/:agent/${name}`,
    access: "operate",
    tag: "agents",
    summary,
    params: agentParams,
    accepts: true,
    answers: { status: 202, holds: ACCEPTED },
    async handle(call) {
      const { id } = await requireAgent(call.context, call.params.agent);
      return accepted(await acceptOnce(call, { to: { agentId: id }, body }));
    },
  });

const resetRoute = messageCommandRoute("reset", "Start a new session; the current run is aborted", {
  kind: "reset",
  by: "person",
});
const stopRoute = messageCommandRoute("stop", "Abort the agent's current run", { kind: "stop" });

const compactRoute = defineRoute({
  method: "POST",
  path: "/api/agents/:agent/compact",
  access: "operate",
  tag: "agents",
  summary: "Replace the conversation so far with a summary and continue from it",
  params: agentParams,
  body: z.strictObject({ instructions: z.string().trim().min(1).max(10_000).optional() }),
  bodyOptional: true,
  accepts: true,
  answers: { status: 202, holds: `${ACCEPTED}; it waits its turn in the inbox` },
  async handle(call) {
    const { id } = await requireAgent(call.context, call.params.agent);
    const { instructions } = call.body;
    return accepted(await acceptOnce(call, { to: { agentId: id }, body: { kind: "compact", instructions } }));
  },
});

const branchRoute = defineRoute({
  method: "POST",
  path: "/api/agents/:agent/branch",
  access: "operate",
  tag: "agents",
  summary: "Go back to an entry of the current session; the next message continues from there",
  params: agentParams,
  body: z.strictObject({
    entryId: z.string().min(1).max(100),
    /** A summary of the entries that are left behind, for the agent. */
    summary: z.string().trim().min(1).max(100_000).optional(),
    /** False: does not wait until it has happened. */
    wait: z.boolean().optional(),
  }),
  answers: {
    status: 200,
    holds:
      "`{ agentId, leaf }`; 504 if it is still waiting its turn after 30 seconds: it will still happen. With `wait: false` 202 with the message that waits its turn",
  },
  async handle({ context, params, body: { entryId, summary, wait = true } }) {
    const { id } = await requireAgent(context, params.agent);
    if (!wait) {
      const posted = await context.agents.sessions.postBranch(id, entryId as EntryId, summary);
      if (posted.status === "stale") throw new NotFoundError("The change was not accepted. Send it again.");
      return accepted(posted);
    }
    await context.agents.sessions.branch(id, entryId as EntryId, { summary, timeoutMs: BRANCH_MS });
    const { leaf } = await requireAgent(context, id);
    return { json: { agentId: id, leaf } };
  },
});

const patchStateRoute = defineRoute({
  method: "PATCH",
  path: "/api/agents/:agent/state",
  access: "operate",
  tag: "agents",
  summary: "Override an agent's settings: model, thinking, queue, label and others; null removes an override",
  params: agentParams,
  body: z.record(z.string().max(64), z.unknown()),
  answers: { status: 202, holds: `${ACCEPTED}; it waits its turn in the inbox` },
  async handle({ context, params, body }) {
    const { id } = await requireAgent(context, params.agent);
    const posted = await context.agents.sessions.patch(id, body as StatePatch);
    if (posted.status === "stale") throw new NotFoundError("The change was not accepted. Send it again.");
    return accepted(posted);
  },
});

const stopTreeRoute = defineRoute({
  method: "POST",
  path: "/api/agents/:agent/stop-tree",
  access: "operate",
  tag: "agents",
  summary: "Stop an agent and all its descendants; none of them starts a run after the answer",
  params: agentParams,
  answers: { status: 200, holds: "`{ stopped: agentId }`" },
  async handle({ context, params, principal }) {
    const { id } = await requireAgent(context, params.agent);
    await context.agents.lifecycle.stop(id, `stopped by ${principal.name}`);
    return { json: { stopped: id } };
  },
});

const startRoute = defineRoute({
  method: "POST",
  path: "/api/agents/:agent/start",
  access: "operate",
  tag: "agents",
  summary: "Undo a stop",
  params: agentParams,
  answers: { status: 200, holds: "`{ started: agentId }`" },
  async handle({ context, params }) {
    const { id } = await requireAgent(context, params.agent);
    await context.agents.lifecycle.startAgain(id);
    return { json: { started: id } };
  },
});

const removeRoute = defineRoute({
  method: "DELETE",
  path: "/api/agents/:agent",
  access: "admin",
  tag: "agents",
  summary: "Stop an agent and all its descendants, and remove it permanently",
  params: agentParams,
  /** `idle`: refuses an agent that has work, instead of stopping it and waiting until it rests. */
  query: z.object({ idle: z.enum(["true", "false"]).optional() }),
  answers: { status: 200, holds: "`{ removed: agentId }`; with `idle=true` 403 if the agent has work" },
  async handle({ context, params, query }) {
    const { id } = await requireAgent(context, params.agent);
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
