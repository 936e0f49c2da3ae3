/** A person's message from a channel, before it has an agent and a sequence. */
import type { DeliveryContext } from "../delivery/delivery.ts";
import type { FileReference } from "../file-reference.ts";
import type { QueueSettings } from "./queue.ts";

declare const made: unique symbol;
/** A text as a connector submits it: any string but a `PromptText`. The host makes a `TypedText` of it. */
export type SubmittedText = string & { readonly [made]?: "typed" };
/** The words that a person typed, with nothing added. Commands are read from it alone. Only `typedText` makes it. */
export type TypedText = string & { readonly [made]: "typed" };
/** The text that the model reads: the typed text and its decoration. Only `promptText` makes it. */
export type PromptText = string & { readonly [made]: "prompt" };

/** Words of another message. `typed`: the sender of this message typed them. Absent: nobody vouches for them (M32). */
interface Shown {
  readonly text: string;
  readonly typed?: true;
}

/** The surroundings of a text on its channel. The model reads it; no command is read from it. */
export interface Decoration {
  /** Earlier messages of the group. */
  readonly before?: readonly (Shown & { readonly by: string })[];
  /** The message that is answered. Without `by` it is the agent's. */
  readonly quote?: Shown & { readonly by?: string };
  /** Who wrote a forwarded text; empty if the channel does not say. A forwarded text is untrusted (M32) and never a command. */
  readonly forwardedFrom?: string;
  /** The text came through a bot: it is untrusted (M32) and never a command. */
  readonly throughBot?: true;
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
  readonly text: SubmittedText;
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

/** One part of a text that the model reads. `untrusted`: it has words that the sender did not type in a message (M32). */
interface Part {
  readonly lines: readonly string[];
  readonly untrusted: boolean;
}

/** Every part says whose words it has, so that none reaches the model without its mark. */
function partsOf(text: TypedText, decoration: Decoration): Part[] {
  const { before = [], quote, forwardedFrom, throughBot = false, replaces, notes = [] } = decoration;
  const said = before.map((one) => `${one.by}: ${one.text}`);
  const origin = [
    ...(forwardedFrom === undefined ? [] : [`[Forwarded from ${forwardedFrom || "someone"}]`]),
    ...(throughBot ? ["[Sent through a bot]"] : []),
    ...(replaces === undefined ? [] : [`[This replaces message ${replaces}, which was edited]`]),
  ];
  return [
    {
      lines: said.length === 0 ? [] : ["[Said in the group before this message]", ...said, "[End]"],
      untrusted: before.some(({ typed }) => !typed),
    },
    {
      lines: quote === undefined ? [] : [`[In reply to ${quote.by ?? "you"}: ${quote.text}]`],
      untrusted: quote !== undefined && !quote.typed,
    },
    { lines: [...origin, ...(text === "" ? [] : [text])], untrusted: !isTypedText(decoration) },
    // A contact, the options of a poll, the name of a file: written by whoever made it.
    { lines: notes, untrusted: notes.length > 0 },
  ];
}

/** Marks a typed text, or a part of one. Called where a text comes in, and where the reader of commands cuts it. */
export const typedText = (text: SubmittedText): TypedText => text as TypedText;

/** The text that the model reads. */
export const promptText = (text: TypedText, decoration: Decoration = {}): PromptText =>
  partsOf(text, decoration)
    .flatMap(({ lines }) => lines)
    .join("\n") as PromptText;

/** Whether the sender typed the text itself. No command is read from another one. */
export const isTypedText = ({ forwardedFrom, throughBot }: Decoration = {}): boolean =>
  forwardedFrom === undefined && throughBot !== true;

/** Whether that text has words that the sender did not type in this message (M32). */
export const hasUntrustedPart = (decoration: Decoration = {}): boolean =>
  partsOf(typedText(""), decoration).some(({ untrusted }) => untrusted);
