/** Sessions: one per agent, by session key, with the usage of the current session. */
import { z } from "zod";
import type { AgentRecord } from "../../../core/agent/agent.ts";
import { AGENT_KINDS } from "../../../core/agent/descriptor.ts";
import { agentIdSchema } from "../../../core/id-schemas.ts";
import { listOf } from "../../../core/list.ts";
import { nameOfAgent, namesInList } from "../../../core/store/agent-names.ts";
import { seesAgent } from "../auth/judge-request.ts";
import { defineRoute, type Route } from "../routing/route.ts";
import { sessionSchema } from "../schemas/agent.ts";
import { pageSchema } from "../schemas/list.ts";
import { limitQuery, nextOf, requireAgent } from "./params.ts";

function sessionSummary(
  { id, sessionKey, descriptor, profile, sessionId, state, waiting, runId, lastHumanAt }: AgentRecord,
  name: string,
) {
  const { updatedAt, lastInteractionAt, tokens, queueMode, thinkingLevel, modelOverride } = state;
  return {
    key: sessionKey,
    agentId: id,
    name,
    kind: descriptor.type,
    profile,
    sessionId,
    updatedAt,
    lastInteractionAt: lastInteractionAt ?? null,
    lastHumanAt: lastHumanAt ?? null,
    waiting,
    runId: runId ?? null,
    model: modelOverride ?? (tokens ? `${tokens.provider}/${tokens.model}` : null),
    tokens: tokens?.size ?? null,
    queueMode: queueMode ?? null,
    thinkingLevel: thinkingLevel ?? null,
  };
}

const sessionsRoute = defineRoute({
  name: "listSessions",
  method: "GET",
  path: "/api/sessions",
  access: "read",
  action: "sessions_list",
  own: true,
  tag: "sessions",
  summary: "List sessions, one per agent, in the order the agents were created; `kind` filters by kind of agent",
  query: z.strictObject({
    kind: z.enum(AGENT_KINDS).optional(),
    after: agentIdSchema.optional(),
    limit: limitQuery(500, 100),
  }),
  output: pageSchema(sessionSchema, "after", z.string()),
  async handle({ context, principal, query: { kind, after, limit } }) {
    const { store } = context.ports;
    const agents = kind ? await store.agentsOfKind(kind, { limit, after }) : await store.agents({ limit, after });
    const seen = agents.filter((agent) => seesAgent(principal, agent));
    const names = await namesInList(store, seen);
    return {
      json: listOf(
        seen.map((agent, at) => sessionSummary(agent, names[at] ?? "")),
        nextOf(agents, limit, ({ id }) => id),
      ),
    };
  },
});

const sessionRoute = defineRoute({
  name: "getSession",
  method: "GET",
  path: "/api/sessions/:key",
  access: "read",
  action: "session_status",
  own: true,
  tag: "sessions",
  summary: "One session by its key",
  params: z.object({ key: z.string().min(1).max(512) }),
  output: sessionSchema,
  async handle({ context, principal, params }) {
    const agent = await requireAgent({ context, principal }, params.key);
    return { json: sessionSummary(agent, await nameOfAgent(context.ports.store, agent)) };
  },
});

export const sessionRoutes: readonly Route[] = [sessionsRoute, sessionRoute];
