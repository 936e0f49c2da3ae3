/** `GET /v1/models`: the values of `model` that a token may use: the profiles, and agents by name. */
import { z } from "zod";
import type { AgentRecord } from "../../../core/agent/agent.ts";
import { holds } from "../../../core/rights/scope.ts";
import { seesAgent } from "../auth/judge-request.ts";
import { isConfined } from "../auth/principal.ts";
import { profilesOf } from "../messages/address.ts";
import { type Call, defineRoute, type Route } from "../routing/route.ts";
import { openAiModelSchema } from "../schemas/openai.ts";
import { modelNotFound, resolveConversation } from "./resolve-conversation.ts";

const MAX_AGENTS = 100;

const modelOf = (id: string, created: number) => ({
  id,
  object: "model" as const,
  created: Math.floor(created / 1000),
  owned_by: "rookery",
});

const modelsRoute = defineRoute({
  name: "listModels",
  method: "GET",
  path: "/v1/models",
  access: "chat",
  action: "message",
  own: true,
  tag: "openai",
  summary: "List the values of `model`: profiles, and agents by their session key",
  output: z.strictObject({ object: z.literal("list"), data: z.array(openAiModelSchema) }),
  async handle(call) {
    const { context } = call;
    const profiles = profilesOf(context.settings.current).map((name) => modelOf(name, context.startedAt));
    const agents = (await listedAgents(call)).map((agent) => modelOf(agent.sessionKey, agent.createdAt));
    return { json: { object: "list" as const, data: [...profiles, ...agents] } };
  },
});

/** An old token with the scope `chat` only sees permanent agents; one of a person or an application its own agents. */
async function listedAgents({ context, principal }: Call): Promise<readonly AgentRecord[]> {
  const agents = await context.ports.store.agents({ limit: MAX_AGENTS });
  const all = holds(principal.scopes, "operate");
  return agents.filter((agent) =>
    isConfined(principal) ? seesAgent(principal, agent) : all || agent.descriptor.type === "permanent",
  );
}

const modelRoute = defineRoute({
  name: "getModel",
  method: "GET",
  path: "/v1/models/:model",
  access: "chat",
  action: "message",
  own: true,
  tag: "openai",
  summary: "One model: a profile, or an agent by id, session key or name",
  params: z.object({ model: z.string().min(1).max(512) }),
  output: openAiModelSchema,
  async handle({ context, params: { model }, principal }) {
    const config = context.settings.current;
    if (profilesOf(config).includes(model)) return { json: modelOf(model, context.startedAt) };
    const { store } = context.ports;
    // An agent that the token may not message answers 404 too, so that its existence stays hidden.
    const allowed = await resolveConversation(config, store, principal, { model, user: undefined }).catch(
      () => undefined,
    );
    const agent = allowed && "agentId" in allowed.to ? await store.agent(allowed.to.agentId) : undefined;
    if (!agent) throw modelNotFound(model, profilesOf(config));
    return { json: modelOf(model, agent.createdAt) };
  },
});

export const modelRoutes: readonly Route[] = [modelsRoute, modelRoute];
