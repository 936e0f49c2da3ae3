/** `GET /v1/models`: what may stand as `model`: the profiles, and the agents this token may speak to by name. */
import { z } from "zod";
import type { AgentRecord } from "../../../core/agent/agent.ts";
import { holds } from "../auth/scope.ts";
import { HttpError } from "../http/http-error.ts";
import { type Call, defineRoute } from "../http/route.ts";
import { addressOf, findAgent, profilesOf } from "./address.ts";

const LISTED = 100;

const described = (id: string, created: number) => ({
  id,
  object: "model",
  created: Math.floor(created / 1000),
  owned_by: "rookery",
});

export const modelsRoute = defineRoute({
  method: "GET",
  path: "/v1/models",
  access: "chat",
  tag: "openai",
  summary: "List what may stand as `model`: profiles, and agents by their session key",
  answers: { status: 200, holds: "a list of models" },
  async handle(call) {
    const { context } = call;
    const profiles = profilesOf(context.config()).map((name) => described(name, context.startedAt));
    const agents = await spokenTo(call);
    return {
      json: { object: "list", data: [...profiles, ...agents.map((one) => described(one.sessionKey, one.createdAt))] },
    };
  },
});

/** Agents that may be named. Who only chats is shown named helpers, not other people's conversations. */
async function spokenTo({ context, principal }: Call): Promise<readonly AgentRecord[]> {
  const agents = await context.ports.store.agents({ limit: LISTED });
  const all = holds(principal.scopes, "operate");
  return agents.filter(({ descriptor }) => all || descriptor.type === "permanent");
}

export const modelRoute = defineRoute({
  method: "GET",
  path: "/v1/models/:model",
  access: "chat",
  tag: "openai",
  summary: "One model: a profile, or an agent by id or session key",
  params: z.object({ model: z.string().min(1).max(512) }),
  answers: { status: 200, holds: "a model" },
  async handle({ context, params: { model }, principal }) {
    const config = context.config();
    if (profilesOf(config).includes(model)) return { json: described(model, context.startedAt) };
    // Who may not speak to it may not learn that it is there.
    const spoken = await addressOf(config, context.ports.store, principal, { model, user: principal.person }).catch(
      () => undefined,
    );
    const agent = spoken && (await findAgent(context.ports.store, model));
    if (!agent)
      throw new HttpError(404, "model_not_found", `There is no model "${model.slice(0, 100)}".`, { param: "model" });
    return { json: described(model, agent.createdAt) };
  },
});
