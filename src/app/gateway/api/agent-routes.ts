/** Agents: the list, one agent with its state, its history. */
import { z } from "zod";
import type { AgentRecord } from "../../../core/agent/agent.ts";
import { labelOf } from "../../../core/agent/descriptor.ts";
import { readEntry } from "../../../core/history/entry.ts";
import { agentIdSchema } from "../../../core/id-schemas.ts";
import { seesAgent } from "../auth/ownership.ts";
import { defineRoute, type Route } from "../routing/route.ts";
import { agentParams, limitQuery, nextOf, numberQuery, requireAgent } from "./params.ts";

/** An agent as lists show it. */
export function agentSummary(agent: AgentRecord) {
  const { id, sessionKey, profile, descriptor, sessionId, waiting, runId, lastHumanAt, createdAt, stopped, node } =
    agent;
  const { label, displayName, updatedAt } = agent.state;
  return {
    id,
    sessionKey,
    kind: descriptor.type,
    label: label ?? displayName ?? labelOf(descriptor),
    profile,
    descriptor,
    sessionId,
    waiting,
    runId: runId ?? null,
    lastHumanAt: lastHumanAt ?? null,
    updatedAt,
    createdAt,
    stopped: stopped ?? null,
    node: node ?? null,
  };
}

const listRoute = defineRoute({
  method: "GET",
  path: "/api/agents",
  access: "read",
  own: true,
  tag: "agents",
  summary: "List agents in the order of their creation",
  query: z.object({ after: agentIdSchema.optional(), limit: limitQuery(500, 100) }),
  answers: { status: 200, holds: "`{ agents: [...], next }`; send `next` as `after`" },
  async handle({ context, principal, query: { after, limit } }) {
    const agents = await context.ports.store.agents({ limit, after });
    const seen = agents.filter((agent) => seesAgent(principal, agent));
    return { json: { agents: seen.map(agentSummary), next: nextOf(agents, limit, ({ id }) => id) } };
  },
});

const agentRoute = defineRoute({
  method: "GET",
  path: "/api/agents/:agent",
  access: "read",
  own: true,
  tag: "agents",
  summary: "One agent, by id or session key, with its state",
  params: agentParams,
  answers: { status: 200, holds: "the agent" },
  async handle({ context, principal, params }) {
    const agent = await requireAgent({ context, principal }, params.agent);
    const { cursor, nextSeq, nextPos, leaf, epoch, state } = agent;
    return { json: { ...agentSummary(agent), cursor, nextSeq, nextPos, leaf, epoch, state } };
  },
});

const historyRoute = defineRoute({
  method: "GET",
  path: "/api/agents/:agent/history",
  access: "read",
  own: true,
  tag: "agents",
  summary: "A page of an agent's history, newest entries first",
  params: agentParams,
  query: z.object({ before: numberQuery(), limit: limitQuery(500, 50) }),
  answers: { status: 200, holds: "`{ entries: [{ position, entry }], next }`; send `next` as `before`" },
  async handle({ context, principal, params, query: { before, limit } }) {
    const { id } = await requireAgent({ context, principal }, params.agent);
    const lines = await context.ports.store.linesBack(id, { limit, before });
    const entries = lines.map(({ position, line }) => {
      const read = readEntry(line);
      return read.kind === "broken" ? { position, broken: read.reason, line } : { position, entry: JSON.parse(line) };
    });
    return { json: { entries, next: nextOf(lines, limit, ({ position }) => position) } };
  },
});

export const agentRoutes: readonly Route[] = [listRoute, agentRoute, historyRoute];
