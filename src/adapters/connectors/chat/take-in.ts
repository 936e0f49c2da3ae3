/** Turns what was read of a chat into a message for the engine, and submits it. Durable when it resolves. */
import type { Conversation } from "../../../core/agent/address.ts";
import { InvalidInputError } from "../../../core/errors.ts";
import type { IncomingMessage } from "../../../core/message/incoming-message.ts";
import type { Accepted, ConnectorHost } from "../../../core/ports/connector.ts";
import { submitText } from "../../../engine/commands/read-chat-command.ts";
import type { ChatMessage, ChatReaction } from "./chat-message.ts";
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
  /** What a client sends by itself when a person opens the chat. It is a message, not a command of ours. */
  readonly opening?: RegExp;
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
      if (message.revision === undefined) window.hear(chat, message);
      return undefined;
    }
  }
  const named = { ...conversation, senderName: message.userName, subject: message.chatTitle };
  // Nothing is fetched for someone who is not known.
  const refused = message.files.length > 0 ? await host.entry?.(named) : undefined;
  if (refused) return refused;
  const fetched = await fetchFiles(deps.fetching, message.userId, message.files);
  const before = message.isGroup ? window.take(chat) : [];
  const isCommand = message.text.startsWith("/");
  const text = built(() => (isCommand ? message.text : textOf(message, before, fetched.missing)));
  const incoming: IncomingMessage = {
    ...conversation,
    messageId: message.messageId,
    revision: message.revision,
    sentAt: message.sentAt,
    text,
    files: fetched.files.length === 0 ? undefined : fetched.files,
    replyToId: message.replyTo?.messageId,
    senderName: message.userName,
    others: isCommand ? undefined : othersIn(message, before, self.userId),
    untrusted: message.forwarded === undefined ? undefined : true,
    ...placeNames(message),
    burst: message.album === undefined ? "text" : "album",
    delivery: deliveryOf(deps, message),
  };
  if (deps.opening?.test(text)) return host.accept(incoming);
  return submitText(host, incoming, self.names);
}

/** What the platform calls the place: the group, and the topic in it. */
function placeNames({ isGroup, chatTitle, topic, threadId }: ChatMessage) {
  if (!isGroup) return { groupChannel: topic };
  if (threadId === undefined) return { subject: chatTitle };
  return { subject: chatTitle, groupChannel: topic ?? `topic ${threadId}`, space: chatTitle };
}

/** The parts of an update are not checked one by one: a text that cannot be made of them is malformed, now and the next time. */
function built<T>(build: () => T): T {
  try {
    return build();
  } catch (cause) {
    throw new InvalidInputError("The message is malformed.", { cause });
  }
}

function textOf(message: ChatMessage, before: readonly Heard[], missing: readonly string[]): string {
  const { replyTo, forwarded, revision, text } = message;
  const quoted =
    replyTo && replyTo.text !== ""
      ? [`[In reply to ${replyTo.isOurs ? "you" : replyTo.userName}: ${quote(replyTo.text)}]`]
      : [];
  const window =
    before.length === 0
      ? []
      : [
          "[Said in the group before this message]",
          ...before.map(({ userName, text: said }) => `${userName}: ${quote(said)}`),
          "[End]",
        ];
  return [
    ...window,
    ...quoted,
    ...(forwarded === undefined ? [] : [`[Forwarded from ${forwarded || "someone"}]`]),
    ...(revision === undefined ? [] : [`[This replaces message ${message.messageId}, which was edited]`]),
    ...(text === "" ? [] : [text]),
    ...missing,
  ].join("\n");
}

const quote = (text: string): string => text.replaceAll(/\s+/gu, " ").trim();

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
