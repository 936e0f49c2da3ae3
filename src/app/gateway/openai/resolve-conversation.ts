/**
 * Finds the agent that a request's `model` and `user` name. A model is a profile: then the agent is the one of this user, or
 * a new one without a user. Or it is an existing agent, by id or session key.
 */
import { randomUUID } from "node:crypto";
import type { Config } from "../../../config/config-schema.ts";
import type { AgentRecord } from "../../../core/agent/agent.ts";
import { sessionKeyOf } from "../../../core/agent/session-key.ts";
import type { Store } from "../../../core/store/store.ts";
import type { Address } from "../../../engine/agents/message-ingress.ts";
import type { Principal } from "../auth/principal.ts";
import { holds } from "../auth/scope.ts";
import { HttpError } from "../http/http-error.ts";
import { API_CONNECTOR, findAgent, profilesOf } from "../messages/address.ts";

export interface Conversation {
  readonly to: Address;
  readonly user: string | undefined;
  /** Requests without a key are compared within a conversation of this name. */
  readonly name: string;
  /** The request creates its own agent, which has no history. */
  readonly isNew: boolean;
}

export async function resolveConversation(
  config: Config,
  store: Pick<Store, "agent" | "agentByKey">,
  principal: Principal,
  request: { readonly model: string; readonly user: string | undefined },
): Promise<Conversation> {
  const { model } = request;
  const user = userOf(principal, request.user);
  if (profilesOf(config).includes(model)) {
    const name = user ?? randomUUID();
    const descriptor = { type: "user", connector: API_CONNECTOR, userId: name, channelId: name } as const;
    // Without the owner's accounts and session.dmScope: every API user has a separate conversation.
    const sessionKey = sessionKeyOf(descriptor, model, { identityLinks: config.session.identityLinks });
    const isNew = user === undefined;
    return { to: { descriptor, profile: model, sessionKey }, user, name: isNew ? `new:${model}` : sessionKey, isNew };
  }
  const agent = await findAgent(store, model);
  if (!agent) throw modelNotFound(model);
  if (!mayMessage(principal, agent)) {
    throw new HttpError(403, "denied", "This token may not send messages to this agent.", {
      hint: "Use a profile or a permanent agent as the model, or a token with the scope operate.",
    });
  }
  return { to: { agentId: agent.id }, user, name: agent.id, isNew: false };
}

export const modelNotFound = (model: string): HttpError =>
  new HttpError(404, "model_not_found", `There is no model "${model.slice(0, 100)}".`, {
    param: "model",
    hint: "GET /v1/models lists them: profiles, and agents by id or session key.",
  });

/** With the scope `chat` only, a token reaches permanent agents and the API users' own conversations. */
function mayMessage(principal: Principal, { descriptor }: AgentRecord): boolean {
  if (holds(principal.scopes, "operate")) return true;
  if (descriptor.type === "permanent") return true;
  return (
    descriptor.type === "user" &&
    descriptor.connector === API_CONNECTOR &&
    (principal.person === undefined || descriptor.userId === principal.person)
  );
}

function userOf(principal: Principal, requested: string | undefined): string | undefined {
  if (principal.person === undefined) return requested;
  if (requested !== undefined && requested !== principal.person) {
    throw new HttpError(403, "denied", "This token belongs to another person than the `user` of the request.", {
      param: "user",
      hint: "Leave `user` out, or use a token that is not bound to a person.",
    });
  }
  return principal.person;
}
