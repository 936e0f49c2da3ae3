/**
 * Finds the agent that a request's `model` and `user` name. A model is a profile: then the agent is the one of this user, or
 * a new one without a user. Or it is an existing agent, by id or session key.
 */
import { randomUUID } from "node:crypto";
import type { Config } from "../../../config/config-schema.ts";
import type { AgentRecord } from "../../../core/agent/agent.ts";
import type { EntryId } from "../../../core/ids.ts";
import { unknownName } from "../../../core/known-name.ts";
import type { PersonId } from "../../../core/people/person.ts";
import type { Store } from "../../../core/store/store.ts";
import type { Address } from "../../../engine/agents/message-ingress.ts";
import type { Principal } from "../auth/principal.ts";
import { speakerOf, unnamedSpeaker } from "../auth/speaker.ts";
import { HttpError } from "../http/http-error.ts";
import { agentsNamed, conversationOf, findAgent, profilesOf, severalAgents, targetNamed } from "../messages/address.ts";
import { assertMayMessage, mayMessage } from "../messages/speaking-in.ts";

export interface Conversation {
  readonly to: Address;
  readonly person: PersonId;
  /** Who speaks, on the API's channel; undefined if the request names no one. */
  readonly user: string | undefined;
  readonly profile: string;
  /** The request creates its own agent, which has no history. */
  readonly isNew: boolean;
  /** The entry that it continues. Absent: the last one. */
  readonly after?: EntryId;
}

export async function resolveConversation(
  config: Config,
  store: Store,
  principal: Principal,
  request: { readonly model: string; readonly user: string | undefined },
): Promise<Conversation> {
  const { model } = request;
  const named = speakerOf(principal, request.user);
  const { person, user: name } = named ?? unnamedSpeaker(principal, randomUUID());
  const user = named?.user;
  if (profilesOf(config).includes(model)) {
    const to = conversationOf(config, model, name);
    return { to, person, user, isNew: user === undefined, profile: model };
  }
  const agent = await agentOf(config, store, principal, model);
  if (!agent) throw modelNotFound(model, profilesOf(config));
  return { to: { agentId: agent.id }, person, user, isNew: false, profile: agent.profile };
}

/** The recipient as a request names it, for the identity of its message (M18). */
export function targetOf(
  config: Config,
  principal: Principal,
  { model, user }: { readonly model: string; readonly user: string | undefined },
): string {
  if (!profilesOf(config).includes(model)) return targetNamed(config, principal, model);
  const speaker = speakerOf(principal, user);
  return speaker ? conversationOf(config, model, speaker.user).sessionKey : `new:${model}`;
}

/** By its id or session key, or a permanent agent by its name. A name that the token may not use does not exist for it. */
async function agentOf(
  config: Config,
  store: Store,
  principal: Principal,
  model: string,
): Promise<AgentRecord | undefined> {
  const exact = await findAgent(store, model);
  if (exact) {
    assertMayMessage(principal, exact);
    return exact;
  }
  const named = (await agentsNamed(store, model, config)).filter(
    (one) => one.descriptor.type === "permanent" && mayMessage(principal, one),
  );
  if (named.length > 1) throw await severalAgents(store, model, named);
  return named[0];
}

export const modelNotFound = (model: string, known: readonly string[]): HttpError =>
  new HttpError(404, "model_not_found", unknownName("model", model, known), {
    param: "model",
    hint: "GET /v1/models lists them: profiles, and agents by id, session key or name.",
  });
