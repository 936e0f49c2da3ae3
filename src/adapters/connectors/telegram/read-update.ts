/**
 * Reads one update: which person said what in which conversation. Pure, and bounded by the size of the update. What has the wrong
 * form is `ignored` with a reason, never an error: one update must not stop the others (L14).
 */
import type { Chat, Message, MessageEntity, Update, User } from "grammy/types";
import { type ChatMessage, type ChatReaction, oneLine, shownText } from "../chat/chat-message.ts";
import { contentOf } from "./describe-content.ts";

export interface Bot {
  readonly id: number;
  readonly username: string;
}

/** A message of a person. The revision of an edited one is the number of its update: two edits in one second have the same time. */
export interface ReadMessage extends ChatMessage {
  readonly kind: "message";
  readonly updateId: number;
  readonly isChannel: boolean;
  readonly threadId?: number;
}

export interface ReadPress {
  readonly kind: "press";
  readonly updateId: number;
  readonly pressId: string;
  readonly data: string;
  readonly chatId: string;
  readonly isGroup: boolean;
  readonly threadId?: number;
  readonly userId: string;
  readonly userName: string;
  readonly messageId: string;
}

export interface ReadStop {
  readonly kind: "stop";
  readonly updateId: number;
  /** Of a private chat: its person's id too. */
  readonly chatId: string;
  readonly threadId?: number;
  readonly draftId: number;
}

interface ReadReaction extends ChatReaction {
  readonly kind: "reaction";
  readonly updateId: number;
}

type ReadUpdate =
  | ReadMessage
  | ReadPress
  | ReadStop
  | ReadReaction
  | { readonly kind: "ignored"; readonly updateId?: number; readonly reason: string };

const MAX_QUOTE = 1_000;

export function readUpdate(update: unknown, bot: Bot): ReadUpdate {
  if (typeof update !== "object" || update === null) return { kind: "ignored", reason: "not an object" };
  const { update_id: id } = update as Partial<Update>;
  const updateId = Number.isSafeInteger(id) ? id : undefined;
  try {
    return updateId === undefined
      ? { kind: "ignored", reason: "no update_id" }
      : readKnown(update as Update, updateId, bot);
  } catch (error) {
    // The form of an update is not checked field by field: what is missing shows here.
    return {
      kind: "ignored",
      updateId,
      reason: `malformed: ${error instanceof Error ? error.message.slice(0, 200) : "?"}`,
    };
  }
}

function readKnown(update: Update, updateId: number, bot: Bot): ReadUpdate {
  const message = update.message ?? update.edited_message ?? update.channel_post ?? update.edited_channel_post;
  if (message) return readMessage(message, updateId, bot);
  if (update.callback_query) return readPress(update.callback_query, updateId);
  if (update.stopped_message_generation) return readStop(update.stopped_message_generation, updateId);
  if (update.message_reaction) return readReaction(update.message_reaction, updateId);
  const kind = Object.keys(update).find((key) => key !== "update_id");
  return { kind: "ignored", updateId, reason: `not handled: ${(kind ?? "nothing").slice(0, 60)}` };
}

function readMessage(message: Message, updateId: number, bot: Bot): ReadUpdate {
  const { chat, from, sender_chat: as, message_id: messageId, date, edit_date: editedAt } = message;
  const place = placeOf(chat, message);
  if (place === undefined || !isId(messageId) || !isTime(date) || (editedAt !== undefined && !isTime(editedAt)))
    throw new TypeError("a message without its ids");
  // Someone who writes as a group or channel is known by that.
  const sender =
    as && as.id !== chat.id
      ? { id: as.id, name: titleOf(as) }
      : from
        ? { id: from.id, name: nameOf(from) }
        : { id: chat.id, name: titleOf(chat) };
  if (!isId(sender.id)) throw new TypeError("a message without a sender");
  if (from?.is_bot && from.id === bot.id) return { kind: "ignored", updateId, reason: "of this bot" };
  if (isService(message)) return { kind: "ignored", updateId, reason: "a notice of the chat" };
  const content = contentOf(message);
  const replyTo = replyOf(message, bot);
  return {
    kind: "message",
    updateId,
    ...place,
    topic:
      place.threadId === undefined
        ? undefined
        : oneLine(message.reply_to_message?.forum_topic_created?.name) || undefined,
    userId: String(sender.id),
    userName: sender.name,
    messageId: String(messageId),
    revision: editedAt === undefined ? undefined : updateId,
    sentAt: (editedAt ?? date) * 1_000,
    ...content,
    typed: isTyped(message),
    album: typeof message.media_group_id === "string" ? message.media_group_id.slice(0, 64) : undefined,
    replyTo,
    forwarded: message.forward_origin ? forwardedFrom(message.forward_origin) : undefined,
    addressed: !place.isGroup || isAddressed(message, bot) || replyTo?.isOurs === true,
  };
}

function placeOf(chat: Chat, message: Pick<Message, "message_thread_id" | "is_topic_message">) {
  if (!isId(chat?.id)) return undefined;
  const isChannel = chat.type === "channel";
  return {
    chatId: String(chat.id),
    chatTitle: chat.type === "private" ? undefined : titleOf(chat),
    isGroup: chat.type !== "private",
    isChannel,
    // In a group without topics a thread is only a chain of replies.
    threadId: message.is_topic_message && isId(message.message_thread_id) ? message.message_thread_id : undefined,
  };
}

/** Seconds; as milliseconds still a whole number. */
const isTime = (value: unknown): value is number => isId(value) && value >= 0 && value < 1e11;
const isId = (value: unknown): value is number => Number.isSafeInteger(value);

const nameOf = (user: User): string =>
  oneLine([user.first_name, user.last_name].filter(Boolean).join(" ")) || oneLine(user.username) || String(user.id);
const titleOf = (chat: Chat): string =>
  ("title" in chat ? oneLine(chat.title) : "") ||
  ("first_name" in chat ? oneLine(chat.first_name) : "") ||
  String(chat.id);

function isService(message: Message): boolean {
  return SERVICE.some((key) => key in message);
}

/** Notices that a chat shows about itself. They are said by no one. */
const SERVICE = [
  "new_chat_members",
  "left_chat_member",
  "new_chat_title",
  "new_chat_photo",
  "delete_chat_photo",
  "group_chat_created",
  "supergroup_chat_created",
  "channel_chat_created",
  "message_auto_delete_timer_changed",
  "migrate_to_chat_id",
  "migrate_from_chat_id",
  "pinned_message",
  "forum_topic_created",
  "forum_topic_edited",
  "forum_topic_closed",
  "forum_topic_reopened",
  "general_forum_topic_hidden",
  "general_forum_topic_unhidden",
  "video_chat_scheduled",
  "video_chat_started",
  "video_chat_ended",
  "video_chat_participants_invited",
  "write_access_allowed",
  "users_shared",
  "chat_shared",
  "proximity_alert_triggered",
  "boost_added",
] as const;

function replyOf(message: Message, bot: Bot): ReadMessage["replyTo"] {
  const { reply_to_message: to, quote } = message;
  // The first message of a topic is no answer to anything.
  if (!to || !isId(to.message_id) || to.forum_topic_created) return undefined;
  const content = contentOf(to as Message);
  const said = quote?.text ?? shownText(content);
  return {
    messageId: String(to.message_id),
    typed: isTyped(to) && !to.forward_origin && content.notes.length + content.files.length === 0,
    userId: to.from ? String(to.from.id) : undefined,
    userName: to.from ? nameOf(to.from) : to.sender_chat ? titleOf(to.sender_chat) : "someone",
    text: said.slice(0, MAX_QUOTE),
    isOurs: to.from?.id === bot.id,
  };
}

/** Whether no bot has made the text. */
const isTyped = ({ via_bot: via, sender_business_bot: sentBy, from }: Partial<Message>): boolean =>
  !via && !sentBy && !from?.is_bot;

function forwardedFrom(origin: NonNullable<Message["forward_origin"]>): string {
  switch (origin.type) {
    case "user":
      return nameOf(origin.sender_user);
    case "hidden_user":
      return oneLine(origin.sender_user_name);
    case "chat":
      return titleOf(origin.sender_chat);
    case "channel":
      return titleOf(origin.chat);
    default:
      return "someone";
  }
}

/** Whether a message in a group names the bot, or is a command for it. */
function isAddressed(message: Message, bot: Bot): boolean {
  const text = message.text ?? message.caption ?? "";
  const own = `@${bot.username.toLowerCase()}`;
  const entities: readonly MessageEntity[] = message.entities ?? message.caption_entities ?? [];
  return entities.some((entity) => {
    const words = text.slice(entity.offset, entity.offset + entity.length).toLowerCase();
    if (entity.type === "mention") return words === own;
    if (entity.type === "text_mention") return entity.user.id === bot.id;
    return entity.type === "bot_command" && entity.offset === 0 && words.endsWith(own);
  });
}

function readPress(query: NonNullable<Update["callback_query"]>, updateId: number): ReadUpdate {
  const { id, data, message, from } = query;
  if (typeof id !== "string" || typeof data !== "string" || !message || !isId(from?.id)) {
    return { kind: "ignored", updateId, reason: "a button without its message" };
  }
  const place = placeOf(message.chat, "message_thread_id" in message ? message : {});
  if (!place) throw new TypeError("a button without a chat");
  const { chatId, isGroup, threadId } = place;
  return {
    ...{ kind: "press", updateId, pressId: id, data: data.slice(0, 64), chatId, isGroup, threadId },
    userId: String(from.id),
    userName: nameOf(from),
    messageId: String(message.message_id),
  };
}

function readStop(stopped: NonNullable<Update["stopped_message_generation"]>, updateId: number): ReadUpdate {
  const { chat, draft_id: draftId, message_thread_id: thread } = stopped;
  if (!isId(chat?.id) || !isId(draftId)) throw new TypeError("a stop without its draft");
  return { kind: "stop", updateId, chatId: String(chat.id), draftId, threadId: isId(thread) ? thread : undefined };
}

function readReaction(reaction: NonNullable<Update["message_reaction"]>, updateId: number): ReadUpdate {
  const { chat, message_id: messageId, user, new_reaction: now, old_reaction: before, date } = reaction;
  if (!isId(chat?.id) || !isId(messageId) || !isId(user?.id) || !isTime(date))
    return { kind: "ignored", updateId, reason: "an anonymous reaction" };
  const emojiOf = (list: typeof now): string[] => list.flatMap((one) => (one.type === "emoji" ? [one.emoji] : []));
  const added = emojiOf(now).filter((one) => !emojiOf(before).includes(one as never));
  if (added.length === 0) return { kind: "ignored", updateId, reason: "a reaction that was taken back" };
  return {
    ...{ kind: "reaction", updateId, chatId: String(chat.id), isGroup: chat.type !== "private" },
    userId: String(user.id),
    userName: nameOf(user),
    messageId: String(messageId),
    reactionId: String(updateId),
    emoji: added.join(" ").slice(0, 40),
    sentAt: date * 1_000,
  };
}
