/** Subagent runs: the children agents have started. Looking into one, waiting for it, telling it something, ending it. */
import { z } from "zod";
import { InvariantError } from "../../../core/errors.ts";
import { messageId } from "../../../core/ids.ts";
import { defineRoute } from "../http/route.ts";
import { acceptOnce } from "./accept-once.ts";
import { shownAgent } from "./agent-routes.ts";
import { runParams, waitQuery } from "./inputs.ts";

export const subagentsRoute = defineRoute({
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

export const subagentRoute = defineRoute({
  method: "GET",
  path: "/api/subagents/:run",
  access: "read",
  tag: "agents",
  summary: "One subagent run: what was asked, its run where it has begun, the child",
  params: runParams,
  answers: { status: 200, holds: "`{ record, run, child }`" },
  async handle({ context, params }) {
    const { record, run, child } = await context.agents.subagents.info(params.run);
    return { json: { record, run: run ?? null, child: child ? shownAgent(child) : null } };
  },
});

export const waitForSubagentRoute = defineRoute({
  method: "GET",
  path: "/api/subagents/:run/wait",
  access: "read",
  tag: "agents",
  summary: "Wait for a child's end, a minute or as long as said; always answers",
  params: runParams,
  query: waitQuery,
  answers: { status: 200, holds: '`{ status: "ended" | "timeout" | "unknown", … }`' },
  handle: async ({ context, params, query: { timeoutMs } }) => ({
    json: await context.agents.subagents.wait(params.run, {
      signal: context.stopping,
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
    }),
  }),
});

export const tellSubagentRoute = defineRoute({
  method: "POST",
  path: "/api/subagents/:run/messages",
  access: "operate",
  tag: "agents",
  summary: "Say something to a child: into its active run, or as its next message",
  params: runParams,
  body: z.strictObject({ text: z.string().trim().min(1).max(1_000_000) }),
  accepts: true,
  answers: { status: 202, holds: "`{ agentId, seq, messageId, duplicate }`" },
  async handle(call) {
    const { context, params, body } = call;
    const [op] = await context.agents.subagents.sendOps(params.run, body.text, undefined);
    if (op?.op !== "message.post" || !("agentId" in op.to)) throw new InvariantError("A child is told by a message.");
    const to = { agentId: op.to.agentId };
    const { agentId, seq, duplicate } = await acceptOnce(call, { to, body: op.message.body });
    return { status: 202, json: { agentId, seq, messageId: messageId(agentId, seq), duplicate } };
  },
});

export const stopSubagentRoute = defineRoute({
  method: "POST",
  path: "/api/subagents/:run/stop",
  access: "operate",
  tag: "agents",
  summary: "Stop a child and all it has started; each of them still reports",
  params: runParams,
  answers: { status: 200, holds: "`{ stopped: run }`" },
  async handle({ context, params }) {
    await context.agents.subagents.stop(params.run);
    return { json: { stopped: params.run } };
  },
});

export const releaseSubagentRoute = defineRoute({
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
