/** Turns what was read of an update into a message for the engine, and submits it. Durable when it resolves. */
import type { Conversation } from "../../../core/agent/address.ts";
import { InvalidInputError } from "../../../core/errors.ts";
import type { IncomingMessage } from "../../../core/message/incoming-message.ts";
import type { Accepted, ConnectorHost } from "../../../core/ports/connector.ts";
import { submitText } from "../../../engine/commands/read-chat-command.ts";
import { draftIdOf } from "./draft-view.ts";
import { type FetchDeps, fetchFiles } from "./fetch-files.ts";
import type { GroupWindow, Heard } from "./group-window.ts";
import type { Bot, ReadMessage, ReadReaction, ReadStop } from "./read-update.ts";
import { TELEGRAM_CHANNEL } from "./telegram-kind.ts";

export interface TakeIn {
  readonly host: ConnectorHost;
  readonly bot: Bot;
  readonly accountId?: string;
  readonly activation: "mention" | "always";
  readonly window: GroupWindow;
  readonly fetching: FetchDeps;
}

type Place = Pick<ReadMessage, "chatId" | "isGroup" | "userId"> & Partial<Pick<ReadMessage, "threadId" | "isChannel">>;

export function conversationOf({ accountId }: Pick<TakeIn, "accountId">, place: Place): Conversation {
  const { chatId, isGroup, isChannel, userId, threadId } = place;
  const peerKind = isGroup ? (isChannel ? "channel" : "group") : "dm";
  return { connector: TELEGRAM_CHANNEL, accountId, userId, channelId: chatId, peerKind, threadId };
}

const deliveryOf = (accountId: string | undefined, { chatId, threadId }: Place): IncomingMessage["delivery"] => ({
  channel: TELEGRAM_CHANNEL,
  accountId,
  to: chatId,
  threadId,
});

/** Undefined: the message speaks to no one here and is only remembered. */
export async function takeMessage(deps: TakeIn, message: ReadMessage): Promise<Accepted | undefined> {
  const { host, bot, accountId, window } = deps;
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
    sentAt: message.editedAt === undefined ? message.sentAt : message.editedAt * 1_000,
    text,
    files: fetched.files.length === 0 ? undefined : fetched.files,
    replyToId: message.replyTo?.messageId,
    senderName: message.userName,
    others: isCommand ? undefined : othersIn(message, before, bot),
    untrusted: message.forwarded === undefined ? undefined : true,
    ...placeNames(message),
    burst: message.album === undefined ? "text" : "album",
    delivery: deliveryOf(accountId, message),
  };
  // What a client sends when a person opens the chat of the bot. Not a command of ours, and a code may follow it.
  if (/^\/start(?:@\w{1,64})?(?:\s|$)/iu.test(text)) return host.accept(incoming);
  return submitText(host, incoming, [bot.username]);
}

/** What the platform calls the place: the group, and the topic in it. */
function placeNames({ isGroup, chatTitle, topic, threadId }: ReadMessage) {
  if (!isGroup) return { groupChannel: topic };
  if (threadId === undefined) return { subject: chatTitle };
  return { subject: chatTitle, groupChannel: topic ?? `topic ${threadId}`, space: chatTitle };
}

/** The parts of an update are not checked one by one: a text that cannot be made of them is malformed, now and the next time. */
function built<T>(build: () => T): T {
  try {
    return build();
  } catch (cause) {
    throw new InvalidInputError("The update is malformed.", { cause });
  }
}

function textOf(message: ReadMessage, before: readonly Heard[], missing: readonly string[]): string {
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

/** Everyone but the sender and the bot whose words are in the text. */
function othersIn(message: ReadMessage, before: readonly Heard[], bot: Bot): readonly string[] | undefined {
  const quoted = message.replyTo?.isOurs ? undefined : message.replyTo?.userId;
  const ids = [...before.map(({ userId }) => userId), ...(quoted === undefined ? [] : [quoted])];
  const others = [...new Set(ids)].filter((id) => id !== message.userId && id !== String(bot.id));
  return others.length === 0 ? undefined : others;
}

/** A person pressed Stop under a draft: the run it was shown for ends. After that run has ended it has no effect (M28). */
export async function takeStop(deps: Pick<TakeIn, "host" | "accountId">, stop: ReadStop): Promise<void> {
  const place = { chatId: stop.chatId, userId: stop.chatId, isGroup: false, threadId: stop.threadId };
  await deps.host.stopRun?.(conversationOf(deps, place), (runId) => draftIdOf(runId) === stop.draftId);
}

export async function takeReaction(deps: Pick<TakeIn, "host" | "accountId">, reaction: ReadReaction): Promise<void> {
  const { messageId, emoji, userId, userName, sentAt, updateId } = reaction;
  await deps.host.note?.({
    ...conversationOf(deps, reaction),
    // Not the id of the message, which may be a person's own.
    messageId: `reaction-${updateId}`,
    sentAt,
    text: `${userName} reacted with ${emoji} to message ${messageId}.`,
    userId,
    senderName: userName,
    delivery: deliveryOf(deps.accountId, reaction),
  });
}
