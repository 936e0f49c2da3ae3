/** A person's message from a channel, before it has an agent and a sequence. */
import type { DeliveryContext } from "../delivery/delivery.ts";
import type { FileReference } from "../file-reference.ts";
import type { QueueSettings } from "./queue.ts";

declare const made: unique symbol;
/** The words that a person typed, with nothing added. Commands are read from it alone. A text of a channel is one; a `PromptText` is not. */
export type TypedText = string & { readonly [made]?: "typed" };
/** The text that the model reads: the typed text and its decoration. Only `promptText` makes it. */
export type PromptText = string & { readonly [made]: "prompt" };

/** The surroundings of a text on its channel. The model reads it; no command is read from it. */
export interface Decoration {
  /** Earlier messages of the group. */
  readonly before?: readonly { readonly by: string; readonly text: string }[];
  /** The message that is answered. Without `by` it is the agent's. */
  readonly quote?: { readonly by?: string; readonly text: string };
  /** Who wrote a forwarded text; empty if the channel does not say. A forwarded text is untrusted (M32) and never a command. */
  readonly forwardedFrom?: string;
  /** The id of the message that this one replaces. */
  readonly replaces?: string;
  /** A line for each part that is not text: a sticker, a file that was not fetched. */
  readonly notes?: readonly string[];
}

/** `album`: a part of several files that were sent as one; its parts may come further apart. */
type Burst = "text" | "album";

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
  /** Exactly as it was typed: what the channel shows around it goes into `decoration`. */
  readonly text: TypedText;
  readonly decoration?: Decoration;
  /** The names that the agent has in this chat: `@rook stop` and `/new@rook` are for it. */
  readonly names?: readonly string[];
  readonly files?: readonly FileReference[];
  readonly replyToId?: string;
  readonly senderName?: string;
  /** Others whose words are in the decoration (a quote, what was said before a mention), by their ids on the channel. */
  readonly others?: readonly string[];
  /** The text contains words of people that the channel does not name (M32). */
  readonly untrusted?: true;
  /** The name of the group or room, of the topic in it, and of the space that has it, as the channel shows them now. */
  readonly subject?: string;
  readonly groupChannel?: string;
  readonly space?: string;
  /** The channel splits what a person says: messages of one person that come together become one prompt. */
  readonly burst?: Burst;
  /** The topic of the message, in a line: used instead of its text if it is dropped. */
  readonly summaryLine?: string;
  /** Queue settings for this message only. */
  readonly queue?: Partial<QueueSettings>;
  /** Queue settings of this message unless the conversation has its own. */
  readonly queueDefault?: Partial<QueueSettings>;
  /** Where the answer goes. */
  readonly delivery: DeliveryContext;
}

/** The text that the model reads. */
export function promptText(text: TypedText, decoration: Decoration = {}): PromptText {
  const { before = [], quote, forwardedFrom, replaces, notes = [] } = decoration;
  const said = before.map((one) => `${one.by}: ${one.text}`);
  return [
    ...(said.length === 0 ? [] : ["[Said in the group before this message]", ...said, "[End]"]),
    ...(quote === undefined ? [] : [`[In reply to ${quote.by ?? "you"}: ${quote.text}]`]),
    ...(forwardedFrom === undefined ? [] : [`[Forwarded from ${forwardedFrom || "someone"}]`]),
    ...(replaces === undefined ? [] : [`[This replaces message ${replaces}, which was edited]`]),
    ...(text === "" ? [] : [text]),
    ...notes,
  ].join("\n") as PromptText;
}
