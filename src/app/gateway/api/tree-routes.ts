/** The tree of agents: a snapshot, its events as a stream, and what is stuck in it. */
import { z } from "zod";
import { TREE_LIMITS } from "../../../core/agent/agent-tree.ts";
import { streamTree } from "../events/tree-stream.ts";
import { ANSWERED } from "../http/send-reply.ts";
import { eventStream } from "../routing/output.ts";
import { defineRoute, type Route } from "../routing/route.ts";
import { agentTreeSchema } from "../schemas/agent.ts";
import { diagnosisSchema } from "../schemas/status.ts";
import { limitQuery, numberQuery, requireAgent } from "./params.ts";

const treeRoute = defineRoute({
  name: "getTree",
  method: "GET",
  path: "/api/tree",
  access: "read",
  action: "manage.agents",
  tag: "agents",
  summary: "The tree of agents with states, waiting messages and usage: below `root`, or all with the newest first",
  query: z.strictObject({
    root: z.string().min(1).max(512).optional(),
    depth: numberQuery(TREE_LIMITS.maxDepth),
    limit: limitQuery(TREE_LIMITS.maxAgents, TREE_LIMITS.agents),
  }),
  output: agentTreeSchema,
  async handle({ context, principal, query: { root, depth, limit } }) {
    const rootId = root === undefined ? undefined : (await requireAgent({ context, principal }, root)).id;
    return { json: await context.agents.tree.read({ depth, limit, root: rootId }) };
  },
});

const diagnosisRoute = defineRoute({
  name: "getDiagnosis",
  method: "GET",
  path: "/api/diagnosis",
  access: "read",
  action: "manage.agents",
  tag: "health",
  summary: "What is in progress and what is stuck",
  output: diagnosisSchema,
  handle: async ({ context }) => ({ json: await context.agents.diagnose() }),
});

const treeEventsRoute = defineRoute({
  name: "streamTree",
  method: "GET",
  path: "/api/events",
  access: "read",
  action: "agents_list",
  own: true,
  tag: "streams",
  summary:
    "Stream the events of all agents that the token may see; `Last-Event-ID` continues an earlier stream, or the stream starts with the tree",
  output: eventStream("`tree`, `changed`, `start`, `step`, `restart`, `error`, `end`"),
  async handle(call) {
    await streamTree(call, call.header("last-event-id"));
    return ANSWERED;
  },
});

export const treeRoutes: readonly Route[] = [treeRoute, treeEventsRoute, diagnosisRoute];
