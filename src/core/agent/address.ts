/**
 * From a person's message to the agent it is for: the profile by the bindings, the descriptor of the conversation, and
 * its session key by scope and links. Pure: the same message and configuration always give the same address.
 */

import { InvalidInputError } from "../errors.ts";
import type { SessionKey } from "../ids.ts";
import type { IncomingMessage } from "../message/incoming-message.ts";
import { DEFAULT_PROFILE } from "./agent.ts";
import { type Binding, resolveBinding } from "./binding.ts";
import type { AgentDescriptor } from "./descriptor.ts";
import type { IdentityLinks } from "./identity-links.ts";
import { type DmScope, sessionKeyOf } from "./session-key.ts";

/** What of a message says which conversation it belongs to. */
export type Conversation = Pick<
  IncomingMessage,
  "connector" | "accountId" | "userId" | "channelId" | "peerKind" | "threadId" | "guildId" | "teamId"
>;

/** The parts of the configuration that decide about addresses. */
export interface AddressConfig {
  readonly profiles: Readonly<Record<string, unknown>>;
  readonly bindings: readonly Binding[];
  readonly session: {
    readonly dmScope?: DmScope;
    readonly mainKey?: string;
    readonly identityLinks?: IdentityLinks;
  };
  readonly owner: { readonly accounts: readonly string[] };
}

export interface Addressed {
  readonly profile: string;
  readonly descriptor: AgentDescriptor;
  readonly sessionKey: SessionKey;
}

export function addressFor(incoming: Conversation, config: AddressConfig): Addressed {
  const descriptor = userDescriptor(incoming);
  const { connector, accountId, guildId, teamId, channelId, userId } = incoming;
  const kind = incoming.peerKind ?? "dm";
  const { profile } = resolveBinding(
    { channel: connector, accountId, guildId, teamId, peer: { kind, id: kind === "dm" ? userId : channelId } },
    config.bindings,
    { known: [DEFAULT_PROFILE, ...Object.keys(config.profiles)], default: DEFAULT_PROFILE },
  );
  const { dmScope, mainKey, identityLinks } = config.session;
  const scoping = { dmScope, mainKey, identityLinks, ownerAccounts: config.owner.accounts };
  return { profile, descriptor, sessionKey: sessionKeyOf(descriptor, profile, scoping) };
}

/** The descriptor of the conversation a message belongs to. Refuses a message that does not say which it is. */
export function userDescriptor(incoming: Conversation): AgentDescriptor {
  const { connector, userId, channelId, accountId, peerKind, threadId } = incoming;
  for (const [name, id] of Object.entries({ connector, userId, channelId })) {
    if (id.trim() === "") {
      throw new InvalidInputError(`A message came without ${name}, so nobody knows whose conversation it belongs to.`, {
        hint: "Connectors must provide connector, channelId and userId.",
      });
    }
  }
  return {
    type: "user",
    connector,
    userId,
    channelId,
    ...(accountId ? { accountId } : {}),
    ...(peerKind ? { peerKind } : {}),
    ...(threadId === undefined || threadId === "" ? {} : { threadId }),
  };
}
