/**
 * Who speaks in a message that a token sends to an agent. A token that may operate says it itself; any other one speaks for its
 * own person or users, in what belongs to them.
 */
import type { AgentRecord } from "../../../core/agent/agent.ts";
import { isReservedUser, personOfApiUser } from "../../../core/people/api-user.ts";
import type { Behalf } from "../../../core/people/behalf.ts";
import { holds } from "../../../core/rights/scope.ts";
import { seesAgent } from "../auth/judge-request.ts";
import { isConfined, type Principal } from "../auth/principal.ts";
import { speakerOf } from "../auth/speaker.ts";
import { HttpError } from "../http/http-error.ts";
import type { Speaking } from "./accept-once.ts";
import { API_CONNECTOR, speaksInOwn } from "./address.ts";

interface Sender {
  readonly id: string;
  readonly name?: string;
}

export interface SpeakingIn {
  readonly sender?: Sender;
  readonly behalf?: Behalf;
  /** Whose limits count beside the token's. */
  readonly speaker?: Speaking;
}

type Conversation = Pick<AgentRecord, "descriptor" | "person">;

/** Throws a 403 if the token may not send to this agent, or not as this sender. */
export function speakingIn(principal: Principal, agent: Conversation, sender: Sender | undefined): SpeakingIn {
  if (!isConfined(principal) && holds(principal.scopes, "operate")) {
    return { sender, behalf: speaksInOwn(principal, agent, sender?.id) };
  }
  assertMayMessage(principal, agent);
  const speaker = speakerOf(principal, sender?.id);
  // Without the name it gives: a name that someone else has would be believed.
  if (speaker) return { sender: { id: speaker.user }, speaker: { person: speaker.person, isNamed: true } };
  if (principal.kind !== "application") return {};
  const { descriptor, person } = agent;
  const user = descriptor.type === "user" && descriptor.connector === API_CONNECTOR ? descriptor.userId : undefined;
  if (user !== undefined) return { sender: { id: user }, speaker: { person: personOfApiUser(user), isNamed: true } };
  if (person === undefined) throw deniedSend();
  return { speaker: { person, isNamed: true } };
}

export function assertMayMessage(principal: Principal, agent: Conversation): void {
  if (!mayMessage(principal, agent)) throw deniedSend();
}

const deniedSend = (): HttpError =>
  new HttpError(403, "denied", "This token may not send messages to this agent.", {
    hint: "Use a profile or a permanent agent as the model, or a token with the scope operate.",
  });

/**
 * A token of a person or an application reaches its own conversations. With the scope `chat` only, an old token reaches permanent
 * agents and the conversations of the users that old tokens name.
 */
export function mayMessage(principal: Principal, agent: Conversation): boolean {
  const { descriptor } = agent;
  if (isConfined(principal)) return seesAgent(principal, agent);
  if (holds(principal.scopes, "operate") || descriptor.type === "permanent") return true;
  if (descriptor.type !== "user" || descriptor.connector !== API_CONNECTOR) return false;
  return principal.user === undefined ? !isReservedUser(descriptor.userId) : descriptor.userId === principal.user;
}
