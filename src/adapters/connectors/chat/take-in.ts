/** Turns what was read of a chat into a message for the engine, and submits it. Durable when it resolves. */
import type { Conversation } from "../../../core/agent/address.ts";
import { InvalidInputError } from "../../../core/errors.ts";
import type { Decoration, IncomingMessage } from "../../../core/message/incoming-message.ts";
import type { Accepted, ConnectorHost } from "../../../core/ports/connector.ts";
import { type ChatMessage, type ChatReaction, shownText } from "./chat-message.ts";
import { type FetchDeps, fetchFiles } from "./fetch-files.ts";
import type { GroupWindow, Heard } from "./group-window.ts";

export interface TakeIn {
  readonly channel: string;
  readonly host: ConnectorHost;
  readonly accountId?: string;
  /** Our own account there: its id, and the names that commands may be addressed to. */
  readonly self: { readonly userId?: string; readonly names: readonly string[] };
  readonly activation: "mention" | "always";
  readonly window: GroupWindow;
  readonly fetching: FetchDeps;
  /** A program sends the messages: each is whole, however fast they arrive (M18a). */
  readonly isProgram?: true;
}

type Place = Pick<ChatMessage, "chatId" | "isGroup" | "userId"> & Partial<Pick<ChatMessage, "threadId" | "isChannel">>;
type From = Pick<TakeIn, "channel" | "accountId">;

export function conversationOf({ channel, accountId }: From, place: Place): Conversation {
  const { chatId, isGroup, isChannel, userId, threadId } = place;
  const peerKind = isGroup ? (isChannel ? "channel" : "group") : "dm";
  return { connector: channel, accountId, userId, channelId: chatId, peerKind, threadId };
}

export const deliveryOf = (
  { channel, accountId }: From,
  { chatId, threadId }: Pick<Place, "chatId" | "threadId">,
): IncomingMessage["delivery"] => ({ channel, accountId, to: chatId, threadId });

/** Undefined: the message speaks to no one here and is only remembered. */
export async function takeMessage(deps: TakeIn, message: ChatMessage): Promise<Accepted | undefined> {
  const { host, self, window } = deps;
  const conversation = conversationOf(deps, message);
  const chat = `${message.chatId}/${message.threadId ?? ""}`;
  if (message.isGroup && !message.addressed) {
    const activation = (await host.groupActivation?.(conversation)) ?? deps.activation;
    if (activation === "mention") {
      // An edit of something that was not said to the bot is not worth remembering twice.
      if (message.revision === undefined)
        window.hear(chat, { ...message, text: shownText(message), typed: isTyped(message) });
      return undefined;
    }
  }
  const { userName: senderName, chatTitle: subject, text } = message;
  // Nothing is fetched for someone who is not known.
  const refused =
    message.files.length > 0 ? await host.entry?.({ ...conversation, senderName, subject, text }) : undefined;
  if (refused) return refused;
  const fetched = await fetchFiles(deps.fetching, message.userId, message.files);
  const before = message.isGroup ? window.take(chat) : [];
  return host.accept({
    ...conversation,
    messageId: message.messageId,
    revision: message.revision,
    sentAt: message.sentAt,
    text,
    decoration: decorationOf(message, before, fetched.missing),
    names: self.names,
    files: fetched.files.length === 0 ? undefined : fetched.files,
    replyToId: message.replyTo?.messageId,
    senderName,
    others: othersIn(message, before, self.userId),
    ...placeNames(message),
    burst: deps.isProgram ? undefined : message.album === undefined ? "text" : "album",
    delivery: deliveryOf(deps, message),
  });
}

/** The names of the group and of the topic in it. */
function placeNames({ isGroup, chatTitle, topic, threadId }: ChatMessage) {
  if (!isGroup) return { groupChannel: topic };
  if (threadId === undefined) return { subject: chatTitle };
  return { subject: chatTitle, groupChannel: topic ?? `topic ${threadId}`, space: chatTitle };
}

/** The parts of an update are not checked one by one: one that cannot be shown is malformed, now and the next time. */
function decorationOf(message: ChatMessage, before: readonly Heard[], missing: readonly string[]): Decoration {
  const { replyTo, forwarded, revision, messageId, notes = [], userId } = message;
  const byThem = (one: { readonly typed: boolean; readonly userId?: string }) =>
    one.typed && one.userId === userId ? (true as const) : undefined;
  try {
    return {
      before: before.map((one) => ({ by: one.userName, text: quote(one.text), typed: byThem(one) })),
      quote:
        replyTo && replyTo.text !== ""
          ? { by: replyTo.isOurs ? undefined : replyTo.userName, text: quote(replyTo.text), typed: byThem(replyTo) }
          : undefined,
      forwardedFrom: forwarded,
      throughBot: message.typed ? undefined : true,
      replaces: revision === undefined ? undefined : messageId,
      notes: [...notes, ...missing],
    };
  } catch (cause) {
    throw new InvalidInputError("The message is malformed.", { cause });
  }
}

const quote = (text: string): string => text.replaceAll(/\s+/gu, " ").trim();

/** Whether all of it is what its sender typed there. */
const isTyped = ({ typed, forwarded, notes = [], files }: ChatMessage): boolean =>
  typed && forwarded === undefined && notes.length + files.length === 0;

/** Everyone but the sender and us whose words are in the text. */
function othersIn(
  message: ChatMessage,
  before: readonly Heard[],
  ourId: string | undefined,
): readonly string[] | undefined {
  const quoted = message.replyTo?.isOurs ? undefined : message.replyTo?.userId;
  const ids = [...before.map(({ userId }) => userId), ...(quoted === undefined ? [] : [quoted])];
  const others = [...new Set(ids)].filter((id) => id !== message.userId && id !== ourId);
  return others.length === 0 ? undefined : others;
}

/** A note in the history; it starts no run. Its id is not that of a message, which may be a person's own. */
export async function takeNote(
  deps: From & Pick<TakeIn, "host">,
  place: Place,
  note: { readonly id: string; readonly sentAt: number; readonly userName: string; readonly text: string },
): Promise<void> {
  await deps.host.note?.({
    ...conversationOf(deps, place),
    messageId: note.id,
    sentAt: note.sentAt,
    text: note.text,
    senderName: note.userName,
    delivery: deliveryOf(deps, place),
  });
}

export const takeReaction = (deps: From & Pick<TakeIn, "host">, reaction: ChatReaction): Promise<void> =>
  takeNote(deps, reaction, {
    ...{ id: `reaction-${reaction.reactionId}`, sentAt: reaction.sentAt, userName: reaction.userName },
    text: `${reaction.userName} reacted with ${reaction.emoji} to message ${reaction.messageId}.`,
  });
