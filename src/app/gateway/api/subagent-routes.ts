/** Subagent runs: list, inspect, wait, message the child, stop it, forget one that has ended. */
import { z } from "zod";
import { InvariantError } from "../../../core/errors.ts";
import { accepted, acceptOnce } from "../messages/accept-once.ts";
import { defineRoute, type Route } from "../routing/route.ts";
import { agentSummary } from "./agent-routes.ts";
import { runParams, waitQuery } from "./params.ts";

const subagentsRoute = defineRoute({
  method: "GET",
  path: "/api/subagents",
  access: "read",
  tag: "agents",
  summary: "Subagent runs that have not ended, or all of one requester",
  query: z.object({ requester: z.string().min(1).max(512).optional() }),
  answers: { status: 200, holds: "`{ runs: [...] }`" },
  async handle({ context, query: { requester } }) {
    const filter = requester === undefined ? { open: true as const } : { requesterSessionKey: requester };
    return { json: { runs: await context.ports.store.subagentRuns(filter) } };
  },
});

const subagentRoute = defineRoute({
  method: "GET",
  path: "/api/subagents/:run",
  access: "read",
  tag: "agents",
  summary: "One subagent run: its task, its run if it has started, the child agent",
  params: runParams,
  answers: { status: 200, holds: "`{ record, run, child }`" },
  async handle({ context, params }) {
    const { record, run, child } = await context.agents.subagents.info(params.run);
    return { json: { record, run: run ?? null, child: child ? agentSummary(child) : null } };
  },
});

const waitForSubagentRoute = defineRoute({
  method: "GET",
  path: "/api/subagents/:run/wait",
  access: "read",
  tag: "agents",
  summary: "Wait for a child's end, one minute or `timeoutMs`; a timeout is a normal answer",
  params: runParams,
  query: waitQuery,
  answers: { status: 200, holds: '`{ status: "ended" | "timeout" | "unknown", … }`' },
  handle: async ({ context, params, query: { timeoutMs } }) => ({
    json: await context.agents.subagents.wait(params.run, {
      signal: context.stopping,
      timeoutMs,
    }),
  }),
});

const messageSubagentRoute = defineRoute({
  method: "POST",
  path: "/api/subagents/:run/messages",
  access: "operate",
  tag: "agents",
  summary: "Send a message to a child: into its current run, or as its next message",
  params: runParams,
  body: z.strictObject({ text: z.string().trim().min(1) }),
  accepts: true,
  answers: { status: 202, holds: "`{ agentId, seq, messageId }`" },
  async handle(call) {
    const { context, params, body } = call;
    const message = async () => {
      const [op] = await context.agents.subagents.sendOps(params.run, body.text, undefined);
      if (op?.op !== "message.post" || !("agentId" in op.to))
        throw new InvariantError("sendOps did not return a message to an agent id.");
      return { to: { agentId: op.to.agentId }, body: op.message.body };
    };
    return accepted(await acceptOnce(call, message));
  },
});

const stopSubagentRoute = defineRoute({
  method: "POST",
  path: "/api/subagents/:run/stop",
  access: "operate",
  tag: "agents",
  summary: "Stop a child and all its descendants; each of them still reports",
  params: runParams,
  answers: { status: 200, holds: "`{ stopped: run }`" },
  async handle({ context, params, record }) {
    const reply = { json: { stopped: params.run } };
    await context.agents.subagents.stop(params.run, "stopped by a person", record(reply));
    return reply;
  },
});

const releaseSubagentRoute = defineRoute({
  method: "DELETE",
  path: "/api/subagents/:run",
  access: "operate",
  tag: "agents",
  summary: "Forget a subagent run that has ended and reported",
  params: runParams,
  answers: { status: 200, holds: "`{ released: run }`" },
  async handle({ context, params }) {
    await context.agents.subagents.release(params.run);
    return { json: { released: params.run } };
  },
});

export const subagentRoutes: readonly Route[] = [
  subagentsRoute,
  subagentRoute,
  waitForSubagentRoute,
  messageSubagentRoute,
  stopSubagentRoute,
  releaseSubagentRoute,
];
