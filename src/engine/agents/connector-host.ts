/** What connectors call: posts a person's message or command to the agent of that conversation. */
import { type Addressed, type Conversation, userDescriptor } from "../../core/agent/address.ts";
import { isOwner as isOwnerByDefault } from "../../core/agent/session-key.ts";
import { messageId } from "../../core/ids.ts";
import type { IncomingMessage } from "../../core/message/incoming-message.ts";
import type { Source } from "../../core/message/message.ts";
import type { Accepted, Connector, ConnectorHost } from "../../core/ports/connector.ts";
import { DEFAULT_TEXT_LIMITS, type TextLimits } from "../../core/text-limits.ts";
import type { AcceptResult } from "../inbox/accept.ts";
import type { PostRequest } from "./message-ingress.ts";

type Post = (request: PostRequest) => Promise<AcceptResult>;

/** The conversation a message belongs to. */
export type AddressOf = (incoming: Conversation) => Pick<Addressed, "descriptor"> & Partial<Addressed>;

const byDescriptor: AddressOf = (incoming) => ({ descriptor: userDescriptor(incoming) });

export interface HostOptions {
  readonly address?: AddressOf;
  /** Whether the sender is the owner. Default: a sender at the terminal is. */
  readonly isOwner?: (sender: Pick<Conversation, "connector" | "userId">) => boolean;
  readonly resetTriggers?: readonly string[];
  readonly textLimits?: Pick<TextLimits, "messageCharacters">;
}

export const ONLY_THE_OWNER_TEXT = "⚙️ Only the owner may use /send.";

export function hostFor(
  connector: Pick<Connector, "name" | "replayHorizonMs">,
  post: Post,
  options: HostOptions = {},
): ConnectorHost {
  const { address: addressOf = byDescriptor, isOwner = isOwnerByDefault } = options;
  const common = (incoming: Omit<IncomingMessage, "text">) => ({
    to: addressOf(incoming),
    delivery: incoming.delivery,
    source: sourceOf(incoming),
    sender: { connector: incoming.connector, userId: incoming.userId },
    replayHorizonMs: connector.replayHorizonMs,
  });
  return {
    get resetTriggers() {
      return options.resetTriggers;
    },
    // Read at each use: a reload may change it.
    get maxCharacters() {
      return (options.textLimits ?? DEFAULT_TEXT_LIMITS).messageCharacters;
    },
    async accept(incoming) {
      const { text, files, replyToId, userId, senderName, queue } = incoming;
      return acceptedAs(
        await post({
          ...common(incoming),
          body: {
            kind: "user",
            text,
            sender: { id: userId, name: senderName || undefined },
            files: files && [...files],
            replyToId: replyToId || undefined,
            queue,
          },
        }),
      );
    },
    async command(incoming) {
      const { command } = incoming;
      if (command.name === "stop") return acceptedAs(await post({ ...common(incoming), body: { kind: "stop" } }));
      if (command.name === "compact") {
        const body = { kind: "compact", instructions: command.instructions || undefined } as const;
        return acceptedAs(await post({ ...common(incoming), body }));
      }
      if (command.name === "subagents") {
        return acceptedAs(await post({ ...common(incoming), body: { kind: "subagents", command: command.text } }));
      }
      if (command.name === "queue") {
        return acceptedAs(await post({ ...common(incoming), body: { kind: "setting", queue: command.settings } }));
      }
      if (command.name === "send") {
        const change = isOwner(incoming) ? { patch: { sendPolicy: command.policy } } : { refused: ONLY_THE_OWNER_TEXT };
        return acceptedAs(await post({ ...common(incoming), body: { kind: "setting", ...change } }));
      }
      const reset = await post({ ...common(incoming), body: { kind: "reset", by: "person" } });
      if (!command.text) return acceptedAs(reset);
      // The text after the command is the first message of the new session. After a crash in between, the channel repeats the
      // command: the reset is then a duplicate, and the text is not lost.
      const first = common(incoming);
      const source = { ...first.source, messageId: `${incoming.messageId}#text` };
      const { queue } = incoming;
      const body = { kind: "user", text: command.text, sender: { id: incoming.userId }, queue } as const;
      return acceptedAs(await post({ ...first, source, body }));
    },
  };
}

function acceptedAs(result: AcceptResult): Accepted {
  if (result.status === "stale") return result;
  return { status: result.status, agentId: result.agentId, messageId: messageId(result.agentId, result.seq) };
}

function sourceOf(incoming: Omit<IncomingMessage, "text">): Source {
  const { connector, accountId, channelId, messageId: id, revision, sentAt } = incoming;
  return {
    connector,
    channelId,
    messageId: id,
    accountId: accountId || undefined,
    revision,
    sentAt,
  };
}
