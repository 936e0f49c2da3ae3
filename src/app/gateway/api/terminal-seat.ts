/**
 * Who sits at a terminal, and where that person speaks. The owner speaks on the terminal's own channel. A guest with a token, or the
 * user of an application, speaks on the API's channel, in conversations that belong to that person alone (L13).
 */
import { addressFor } from "../../../core/agent/address.ts";
import { DEFAULT_PROFILE } from "../../../core/agent/agent.ts";
import { sessionKeyOf } from "../../../core/agent/session-key.ts";
import { TERMINAL_CHANNEL } from "../../../core/delivery/route.ts";
import { holds } from "../../../core/rights/scope.ts";
import { isConfined, type Principal } from "../auth/principal.ts";
import { type Speaker, speakerOf } from "../auth/speaker.ts";
import { HttpError } from "../http/http-error.ts";
import { conversationOf } from "../messages/address.ts";
import type { GatewayContext } from "../routing/gateway-context.ts";

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
      hint: "Mint one: `rookery tokens mint NAME --scope chat --person ID`, or --scope admin for the owner.",
    },
  );
}

/** The conversation of a seat: the main one, or a named thread. The first message to it creates it. */
export function addressAt(context: Pick<GatewayContext, "config">, seat: Seat, threadId: string | undefined) {
  const config = context.config();
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
