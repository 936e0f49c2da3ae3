/** Sessions, as the session lineage lists them: conversations by key, with what their current session has used. */
import { z } from "zod";
import type { AgentRecord } from "../../../core/agent/agent.ts";
import { AGENT_KINDS } from "../../../core/agent/descriptor.ts";
import { agentIdSchema } from "../../../core/id-schemas.ts";
import { defineRoute } from "../http/route.ts";
import { agentOf, limitQuery } from "./inputs.ts";

/** The stretch of an agent's history since its last reset. */
function shownSession({
  id,
  sessionKey,
  descriptor,
  profile,
  sessionId,
  state,
  waiting,
  runId,
  lastHumanAt,
}: AgentRecord) {
  const { label, displayName, updatedAt, lastInteractionAt, tokens, queueMode, thinkingLevel, modelOverride } = state;
  return {
    key: sessionKey,
    agentId: id,
    kind: descriptor.type,
    profile,
    sessionId,
    label: label ?? displayName ?? null,
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

export const sessionsRoute = defineRoute({
  method: "GET",
  path: "/api/sessions",
  access: "read",
  tag: "sessions",
  summary: "List sessions, one per agent, in the order the agents were made; `kind` gives those of one kind",
  query: z.object({
    kind: z.enum(AGENT_KINDS).optional(),
    after: agentIdSchema.optional(),
    limit: limitQuery(500, 100),
  }),
  answers: { status: 200, holds: "`{ sessions: [...], next }`; `next` goes into `after`" },
  async handle({ context, query: { kind, after, limit } }) {
    const { store } = context.ports;
    const agents = kind ? await store.agentsOfKind(kind, { limit, after }) : await store.agents({ limit, after });
    return { json: { sessions: agents.map(shownSession), next: agents.length === limit ? agents.at(-1)?.id : null } };
  },
});

export const sessionRoute = defineRoute({
  method: "GET",
  path: "/api/sessions/:key",
  access: "read",
  tag: "sessions",
  summary: "One session by its key",
  params: z.object({ key: z.string().min(1).max(512) }),
  answers: { status: 200, holds: "the session" },
  handle: async ({ context, params }) => ({ json: shownSession(await agentOf(context, params.key)) }),
});
