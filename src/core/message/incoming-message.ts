/** A person's message from a channel, before it has an agent and a sequence. */
import type { DeliveryContext } from "../delivery/delivery.ts";
import type { FileReference } from "../file-reference.ts";
import type { QueueSettings } from "./queue.ts";

/** `album`: a part of several files that were sent as one; its parts may come further apart. */
export type Burst = "text" | "album";

/** A person's message as a connector submits it. All ids are the channel's immutable ones. */
export interface IncomingMessage {
  readonly connector: string;
  readonly accountId?: string;
  readonly userId: string;
  readonly channelId: string;
  readonly peerKind?: "dm" | "group" | "channel";
  readonly threadId?: string | number;
  /** A channel's group of conversations (Discord's guild, Slack's team), for bindings. */
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
  /** Others whose words are in the text (a quote, what was said before a mention), by their ids on the channel. */
  readonly others?: readonly string[];
  /** Words of people whom the channel does not name are in the text, such as a forwarded message (M32). */
  readonly untrusted?: true;
  /** The name of the group or room, of the topic in it, and of the space that has it, as the channel shows them now. */
  readonly subject?: string;
  readonly groupChannel?: string;
  readonly space?: string;
  /** The channel splits what a person says: messages of one person that come together become one prompt. */
  readonly burst?: Burst;
  /** What the message is about, in a line: used instead of its text if it is dropped. */
  readonly summaryLine?: string;
  /** Queue settings for this message only. */
  readonly queue?: Partial<QueueSettings>;
  /** Queue settings of this message unless the conversation has its own. */
  readonly queueDefault?: Partial<QueueSettings>;
  /** Where the answer goes. */
  readonly delivery: DeliveryContext;
}
