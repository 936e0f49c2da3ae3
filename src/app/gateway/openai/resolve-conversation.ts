/**
 * Finds the agent that a request's `model` and `user` name. A model is a profile: then the agent is the one of this user, or
 * a new one without a user. Or it is an existing agent, by id or session key.
 */
import { randomUUID } from "node:crypto";
import type { Config } from "../../../config/config-schema.ts";
import type { AgentRecord } from "../../../core/agent/agent.ts";
import { isReservedUser } from "../../../core/people/api-user.ts";
import type { PersonId } from "../../../core/people/person.ts";
import type { Store } from "../../../core/store/store.ts";
import type { Address } from "../../../engine/agents/message-ingress.ts";
import { seesAgent } from "../auth/ownership.ts";
import { isConfined, type Principal } from "../auth/principal.ts";
import { holds } from "../auth/scope.ts";
import { speakerOf, unnamedSpeaker } from "../auth/speaker.ts";
import { HttpError } from "../http/http-error.ts";
import { API_CONNECTOR, conversationOf, findAgent, profilesOf } from "../messages/address.ts";

export interface Conversation {
  readonly to: Address;
  readonly person: PersonId;
  /** Who speaks, on the API's channel; undefined if the request names no one. */
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
  const named = speakerOf(principal, request.user);
  const { person, user: name } = named ?? unnamedSpeaker(principal, randomUUID());
  const user = named?.user;
  if (profilesOf(config).includes(model)) {
    const to = conversationOf(config, model, name);
    const isNew = user === undefined;
    return { to, person, user, name: isNew ? `new:${model}` : to.sessionKey, isNew };
  }
  const agent = await findAgent(store, model);
  if (!agent) throw modelNotFound(model);
  if (!mayMessage(principal, agent)) {
    throw new HttpError(403, "denied", "This token may not send messages to this agent.", {
      hint: "Use a profile or a permanent agent as the model, or a token with the scope operate.",
    });
  }
  return { to: { agentId: agent.id }, person, user, name: agent.id, isNew: false };
}

export const modelNotFound = (model: string): HttpError =>
  new HttpError(404, "model_not_found", `There is no model "${model.slice(0, 100)}".`, {
    param: "model",
    hint: "GET /v1/models lists them: profiles, and agents by id or session key.",
  });

/**
 * A token of a person or an application reaches its own conversations. With the scope `chat` only, an old token reaches permanent
 * agents and the conversations of the users that old tokens name.
 */
function mayMessage(principal: Principal, agent: AgentRecord): boolean {
  const { descriptor } = agent;
  if (isConfined(principal)) return seesAgent(principal, agent);
  if (holds(principal.scopes, "operate") || descriptor.type === "permanent") return true;
  if (descriptor.type !== "user" || descriptor.connector !== API_CONNECTOR) return false;
  return principal.user === undefined ? !isReservedUser(descriptor.userId) : descriptor.userId === principal.user;
}
