/** Agents: the list, one agent with its state, its history; making a permanent agent. */
import { z } from "zod";
import { sessionPhaseOf } from "../../../core/agent/session-phase.ts";
import { InvalidInputError } from "../../../core/errors.ts";
import { readEntry } from "../../../core/history/entry.ts";
import { agentIdSchema } from "../../../core/id-schemas.ts";
import type { SessionId } from "../../../core/ids.ts";
import { listOf } from "../../../core/list.ts";
import { hostZone } from "../../../core/zoned-time.ts";
import type { PutPermanent } from "../../../engine/agents/put-permanent.ts";
import { exportSession } from "../../../engine/context/transcript/export-session.ts";
import { auditOp } from "../../../engine/people/audit-entry.ts";
import { actorOf, assertOwner } from "../auth/actor.ts";
import { seesAgent } from "../auth/judge-request.ts";
import { behalfOf } from "../auth/speaker.ts";
import { profilesOf } from "../messages/address.ts";
import { agentSummary, listAgents } from "../reads/agent-list.ts";
import { unansweredIn } from "../reads/unanswered.ts";
import { defineRoute, type Route } from "../routing/route.ts";
import {
  agentDetailsSchema,
  agentSummarySchema,
  historyItemSchema,
  permanentAgentSchema,
  transcriptSchema,
} from "../schemas/agent.ts";
import { pageSchema } from "../schemas/list.ts";
import { agentParams, limitQuery, nextOf, numberQuery, requireAgent } from "./params.ts";

const listRoute = defineRoute({
  name: "listAgents",
  method: "GET",
  path: "/api/agents",
  access: "read",
  action: "agents_list",
  own: true,
  tag: "agents",
  summary: "List agents in the order of their creation",
  query: z.strictObject({ after: agentIdSchema.optional(), limit: limitQuery(500, 100) }),
  output: pageSchema(agentSummarySchema, "after", z.string()),
  async handle({ context, principal, query: { after, limit } }) {
    return { json: await listAgents(context.ports.store, { after, limit }, (agent) => seesAgent(principal, agent)) };
  },
});

const agentRoute = defineRoute({
  name: "getAgent",
  method: "GET",
  path: "/api/agents/:agent",
  access: "read",
  action: "session_status",
  own: true,
  tag: "agents",
  summary: "One agent, by id or session key, with its state",
  params: agentParams,
  output: agentDetailsSchema,
  async handle({ context, principal, params }) {
    const agent = await requireAgent({ context, principal }, params.agent);
    const { cursor, nextSeq, nextPos, leaf, epoch, state } = agent;
    const { reset, timeZone } = context.settings.current.session;
    const phase = sessionPhaseOf(agent, reset, context.ports.clock.now(), timeZone ?? hostZone());
    return {
      json: {
        ...(await agentSummary(context.ports.store, agent)),
        phase,
        cursor,
        nextSeq,
        nextPos,
        leaf,
        epoch,
        state,
      },
    };
  },
});

const historyRoute = defineRoute({
  name: "getHistory",
  method: "GET",
  path: "/api/agents/:agent/history",
  access: "read",
  action: "sessions_history",
  own: true,
  tag: "agents",
  summary: "A page of an agent's history, newest entries first",
  params: agentParams,
  query: z.strictObject({ before: numberQuery(), limit: limitQuery(500, 50) }),
  output: pageSchema(historyItemSchema, "before", z.number()),
  async handle({ context, principal, params, query: { before, limit } }) {
    const { id } = await requireAgent({ context, principal }, params.agent);
    const { store } = context.ports;
    const lines = await store.linesBack(id, { limit, before });
    const entries = lines.map(({ position, line }) => {
      const read = readEntry(line);
      return read.kind === "broken" ? { position, broken: read.reason, line } : { position, entry: JSON.parse(line) };
    });
    const unanswered = await unansweredIn(
      store,
      id,
      entries.map(({ entry }) => entry),
    );
    return {
      json: listOf(
        entries.map((entry, at) => ({ ...entry, unanswered: unanswered[at] })),
        nextOf(lines, limit, ({ position }) => position),
      ),
    };
  },
});

const transcriptRoute = defineRoute({
  name: "getTranscript",
  method: "GET",
  path: "/api/agents/:agent/transcript",
  access: "read",
  action: "sessions_history",
  own: true,
  tag: "agents",
  summary: "A session of an agent as the text of a session file; the current one by default",
  params: agentParams,
  query: z.strictObject({
    session: z.string().min(1).max(128).optional(),
    version: z.enum(["2", "3"]).optional(),
    /** The working directory that the header names. */
    cwd: z.string().max(4_096).optional(),
  }),
  output: transcriptSchema,
  async handle({ context, principal, params, query: { session, version, cwd } }) {
    const agent = await requireAgent({ context, principal }, params.agent);
    const options = {
      sessionId: session as SessionId | undefined,
      version: version && (Number(version) as 2 | 3),
      cwd,
    } as const;
    return { json: await exportSession(context.ports.store, agent, options) };
  },
});

const putRoute = defineRoute({
  name: "putPermanentAgent",
  method: "POST",
  path: "/api/agents",
  access: "admin",
  action: "create_permanent_agent",
  tag: "agents",
  summary: "Make a permanent agent, or change the description and prompt of the one with that name",
  example: { name: "archivist", description: "Keeps the notes.", systemPrompt: "You file what you are sent." },
  body: z.strictObject({
    name: z.string().trim().min(1).max(200),
    description: z.string().trim().min(1).max(2_000),
    systemPrompt: z.string().trim().min(1),
    username: z.string().trim().min(1).max(200).optional(),
    profile: z.string().min(1).max(64).optional(),
  }),
  output: {
    201: permanentAgentSchema.describe("A new agent."),
    202: permanentAgentSchema.describe("It exists, and is changed in the order of its inbox."),
  },
  async handle({ context, principal, surface, body, record }) {
    assertOwner(principal);
    const profiles = profilesOf(context.settings.current);
    if (body.profile !== undefined && !profiles.includes(body.profile)) {
      throw new InvalidInputError(`There is no profile "${body.profile}".`, {
        hint: `Profiles: ${profiles.join(", ")}.`,
      });
    }
    const replyOf = (json: PutPermanent) => ({ status: json.created ? (201 as const) : (202 as const), json });
    const done = await context.agents.lifecycle.putPermanent(body, behalfOf(principal), (json) => {
      const audited = { action: "agent.put", target: body.name, agentId: json.agentId, args: body };
      return [auditOp(actorOf(principal, surface), context.ports.clock.now(), audited), ...record(replyOf(json))];
    });
    return replyOf(done);
  },
});

export const agentRoutes: readonly Route[] = [listRoute, agentRoute, historyRoute, transcriptRoute, putRoute];
