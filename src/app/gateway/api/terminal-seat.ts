/**
 * Who sits at a terminal, and where that person speaks. The owner speaks on the terminal's own channel. A guest with a token, or the
 * user of an application, speaks on the API's channel, in conversations that belong to that person alone (L13).
 */
import { addressFor } from "../../../core/agent/address.ts";
import { type AgentRecord, DEFAULT_PROFILE } from "../../../core/agent/agent.ts";
import { sessionKeyOf } from "../../../core/agent/session-key.ts";
import { TERMINAL_CHANNEL } from "../../../core/delivery/route.ts";
import { InvalidInputError } from "../../../core/errors.ts";
import { isAgentId } from "../../../core/ids.ts";
import { holds } from "../../../core/rights/scope.ts";
import { isConfined, type Principal } from "../auth/principal.ts";
import { type Speaker, speakerOf } from "../auth/speaker.ts";
import { HttpError } from "../http/http-error.ts";
import { conversationOf, severalAgents } from "../messages/address.ts";
import type { GatewayContext } from "../routing/gateway-context.ts";
import { type Asking, findAgent, requireAgent } from "./params.ts";

export type Seat =
  | { readonly kind: "owner"; readonly user: string; readonly channel: string }
  | { readonly kind: "person"; readonly speaker: Speaker; readonly channel: string };

/** How the owner is called at the terminal, unless a request says otherwise. */
const OWNER_NAME = "owner";

/** Throws a 403 for a token that belongs to no one who could sit there. */
export function seatOf(principal: Principal, user: string | undefined): Seat {
  if (isConfined(principal)) {
    const speaker = speakerOf(principal, user);
    if (speaker) return { kind: "person", speaker, channel: "api" };
    throw new HttpError(400, "invalid_input", "An application must name the `user` who speaks.", { param: "user" });
  }
  if (principal.kind === "owner" && holds(principal.scopes, "admin")) {
    return { kind: "owner", user: user ?? OWNER_NAME, channel: TERMINAL_CHANNEL };
  }
  throw new HttpError(
    403,
    "insufficient_scope",
    "Only the owner and people with a token of their own use a terminal.",
    {
      hint: "Mint one: `rookery people tokens add NAME --scope chat --person ID`, or --scope admin for the owner.",
    },
  );
}

interface NamedConversation {
  /** An agent by its name. */
  readonly agent?: string;
  /** A conversation of the person. */
  readonly thread?: string;
  /** An agent that the person may reach and that has this name, otherwise a conversation of the person. */
  readonly to?: string;
}

/**
 * What a request names: an agent that exists, else the thread of the seat. Throws if there is no agent of that id or key, if a name
 * fits several, and if it fits an agent and a conversation.
 */
export async function namedAt(
  call: Asking,
  seat: Seat,
  { agent, thread, to }: NamedConversation,
): Promise<{ readonly agent?: AgentRecord; readonly thread?: string }> {
  if ([agent, thread, to].filter((one) => one !== undefined).length > 1) {
    throw new InvalidInputError("Name one of `agent`, `thread` and `to`.");
  }
  if (agent !== undefined) return { agent: await requireAgent(call, agent) };
  if (to === undefined || to === "main") return { thread };
  if (to.includes(":") || isAgentId(to)) return { agent: await requireAgent(call, to) };
  if (to.length > MAX_THREAD) throw new InvalidInputError(`A name has at most ${MAX_THREAD} characters.`);
  const { store } = call.context.ports;
  const own = await store.agentByKey(addressAt(call.context, seat, to).sessionKey);
  const named = await findAgent(call, to, { byName: !own });
  if (!named) return { thread: to };
  if (own && own.id !== named.id) throw await severalAgents(store, to, [named, own]);
  return { agent: named };
}

/** Characters of the name of a conversation. */
export const MAX_THREAD = 64;

/** The conversation of a seat: the main one, or a named thread. The first message to it creates it. */
export function addressAt(context: Pick<GatewayContext, "settings">, seat: Seat, threadId: string | undefined) {
  const config = context.settings.current;
  if (seat.kind === "owner") {
    const { user } = seat;
    return addressFor({ connector: TERMINAL_CHANNEL, userId: user, channelId: user, threadId }, config);
  }
  const main = conversationOf(config, DEFAULT_PROFILE, seat.speaker.user);
  if (threadId === undefined) return main;
  const descriptor = { ...main.descriptor, threadId };
  return {
    ...main,
    descriptor,
    sessionKey: sessionKeyOf(descriptor, main.profile, { identityLinks: config.session.identityLinks }),
  };
}
