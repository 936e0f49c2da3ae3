/**
 * Whom a request speaks to. A model's name is a profile, and then the conversation is the one of the `user`, or a fresh
 * agent's where none is named; or it is an agent, by id or by session key.
 */
import { randomUUID } from "node:crypto";
import type { Config } from "../../../config/config-schema.ts";
import { type AgentRecord, DEFAULT_PROFILE } from "../../../core/agent/agent.ts";
import { sessionKeyOf } from "../../../core/agent/session-key.ts";
import { type AgentId, isAgentId, type SessionKey } from "../../../core/ids.ts";
import type { Store } from "../../../core/store/store.ts";
import type { Address } from "../../../engine/agents/message-ingress.ts";
import type { Principal } from "../auth/principal.ts";
import { holds } from "../auth/scope.ts";
import { HttpError } from "../http/http-error.ts";

export const API_CONNECTOR = "api";

export interface Spoken {
  readonly to: Address;
  /** Who speaks. */
  readonly user: string | undefined;
  /** Whether this request makes its own agent, which knows nothing yet. */
  readonly fresh: boolean;
}

export const profilesOf = (config: Pick<Config, "profiles">): readonly string[] => [
  ...new Set([DEFAULT_PROFILE, ...Object.keys(config.profiles)]),
];

export async function addressOf(
  config: Config,
  store: Pick<Store, "agent" | "agentByKey">,
  principal: Principal,
  { model, user: said }: { model: string; user: string | undefined },
): Promise<Spoken> {
  const user = speaker(principal, said);
  if (profilesOf(config).includes(model)) {
    const name = user ?? randomUUID();
    const descriptor = { type: "user", connector: API_CONNECTOR, userId: name, channelId: name } as const;
    // Never by the owner's accounts or scope: users of the API are kept apart always.
    const sessionKey = sessionKeyOf(descriptor, model, { identityLinks: config.session.identityLinks });
    return { to: { descriptor, profile: model, sessionKey }, user, fresh: user === undefined };
  }
  const agent = await findAgent(store, model);
  if (!agent) {
    throw new HttpError(404, "model_not_found", `There is no model "${model.slice(0, 100)}".`, {
      param: "model",
      hint: "GET /v1/models lists them: profiles, and agents by id or session key.",
    });
  }
  if (!maySpeakTo(principal, agent)) {
    throw new HttpError(
      403,
      "denied",
      "This token may speak to profiles and to agents that were made to be spoken to.",
      {
        hint: "Somebody else's conversation needs the scope operate.",
      },
    );
  }
  return { to: { agentId: agent.id }, user, fresh: false };
}

/** An agent by its id or its session key. */
export async function findAgent(
  store: Pick<Store, "agent" | "agentByKey">,
  name: string,
): Promise<AgentRecord | undefined> {
  const byId = isAgentId(name) ? await store.agent(name as AgentId) : undefined;
  return byId ?? (await store.agentByKey(name as SessionKey));
}

/** Conversations belong to their people: who only chats speaks to named helpers, and to a person's own where it is bound to one. */
function maySpeakTo(principal: Principal, { descriptor }: AgentRecord): boolean {
  if (holds(principal.scopes, "operate")) return true;
  if (descriptor.type === "permanent") return true;
  return (
    descriptor.type === "user" &&
    descriptor.connector === API_CONNECTOR &&
    (principal.person === undefined || descriptor.userId === principal.person)
  );
}

function speaker(principal: Principal, said: string | undefined): string | undefined {
  if (principal.person === undefined) return said;
  if (said !== undefined && said !== principal.person) {
    throw new HttpError(403, "denied", "This token speaks for one person only, and not for that `user`.", {
      param: "user",
    });
  }
  return principal.person;
}
