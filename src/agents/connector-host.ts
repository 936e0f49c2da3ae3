/** What connectors call: a person's message or command becomes a posting to the agent of that conversation. */
import { type Addressed, type Conversation, userDescriptor } from "../core/address.ts";
import type { Accepted, Connector, ConnectorHost, IncomingMessage } from "../core/connector.ts";
import { messageId } from "../core/ids.ts";
import type { Source } from "../core/message.ts";
import type { AcceptResult } from "../inbox/accept.ts";
import type { Posting } from "./agent-system.ts";

type Post = (posting: Posting) => Promise<AcceptResult>;

/** Whose conversation a message belongs to. */
export type AddressOf = (incoming: Conversation) => Pick<Addressed, "descriptor"> & Partial<Addressed>;

const byDescriptor: AddressOf = (incoming) => ({ descriptor: userDescriptor(incoming) });

export function hostFor(
  connector: Pick<Connector, "name" | "replayHorizonMs">,
  post: Post,
  addressOf: AddressOf = byDescriptor,
): ConnectorHost {
  const common = (incoming: Omit<IncomingMessage, "text">) => ({
    to: addressOf(incoming),
    delivery: incoming.delivery,
    source: sourceOf(incoming),
    replayHorizonMs: connector.replayHorizonMs,
  });
  return {
    async accept(incoming) {
      const { text, files, replyToId, userId, senderName, queue } = incoming;
      return told(
        await post({
          ...common(incoming),
          body: {
            kind: "user",
            text,
            sender: { id: userId, ...(senderName ? { name: senderName } : {}) },
            ...(files ? { files: [...files] } : {}),
            ...(replyToId ? { replyToId } : {}),
            ...(queue ? { queue } : {}),
          },
        }),
      );
    },
    async command(incoming) {
      const { command } = incoming;
      if (command.name === "stop") return told(await post({ ...common(incoming), body: { kind: "stop" } }));
      if (command.name === "queue") {
        return told(await post({ ...common(incoming), body: { kind: "setting", queue: command.settings } }));
      }
      const { text } = command;
      return told(
        await post({ ...common(incoming), body: { kind: "reset", by: "person", ...(text ? { text } : {}) } }),
      );
    },
  };
}

function told(result: AcceptResult): Accepted {
  if (result.status === "stale") return result;
  return { status: result.status, agentId: result.agentId, messageId: messageId(result.agentId, result.seq) };
}

function sourceOf(incoming: Omit<IncomingMessage, "text">): Source {
  const { connector, accountId, channelId, messageId: id, revision, sentAt } = incoming;
  return {
    connector,
    channelId,
    messageId: id,
    ...(accountId ? { accountId } : {}),
    ...(revision === undefined ? {} : { revision }),
    ...(sentAt === undefined ? {} : { sentAt }),
  };
}
