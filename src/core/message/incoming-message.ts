/** A person's message as it comes in from a channel, before it has an agent and a place in an inbox. */
import type { DeliveryContext } from "../delivery/delivery.ts";
import type { FileReference } from "./file-reference.ts";
import type { QueueSettings } from "./queue.ts";

/** A person's message as a connector hands it in. All ids are the channel's own, immutable ones. */
export interface IncomingMessage {
  readonly connector: string;
  readonly accountId?: string;
  readonly userId: string;
  readonly channelId: string;
  readonly peerKind?: "dm" | "group" | "channel";
  readonly threadId?: string | number;
  /** Where a channel groups its conversations further (Discord's guild, Slack's team): bindings may name them. */
  readonly guildId?: string;
  readonly teamId?: string;
  readonly messageId: string;
  /** Raised by each edit of the same message. */
  readonly revision?: number;
  readonly sentAt?: number;
  readonly text: string;
  readonly files?: readonly FileReference[];
  readonly replyToId?: string;
  readonly senderName?: string;
  /** Said with this message, for it only. */
  readonly queue?: Partial<QueueSettings>;
  /** Where the answer goes. */
  readonly delivery: DeliveryContext;
}
