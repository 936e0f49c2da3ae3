/**
 * Sends one delivery. The server's refusals are answers, so a refused form may be sent in another one: rich, HTML, plain text. A
 * call whose outcome is unknown is never repeated here: the outbox lists it as unconfirmed (L12).
 */
import type { InlineKeyboardMarkup, ReactionTypeEmoji, ReplyParameters } from "grammy/types";
import type { Button, Payload } from "../../../core/delivery/delivery.ts";
import type { ConnectorFiles, OutgoingDelivery, SendResult } from "../../../core/ports/connector.ts";
import type { SendRates } from "../chat/send-rates.ts";
import type { BotApi, BotCall } from "./bot-api.ts";
import { sendFile } from "./send-file.ts";
import { toTelegramHtml } from "./telegram-html.ts";
import { toRichMessage } from "./telegram-rich.ts";

export interface Sender {
  readonly api: BotApi;
  readonly rates: SendRates;
  /** Absent until the connector has started. */
  files?: ConnectorFiles;
  warn(message: string, fields: Readonly<Record<string, unknown>>): void;
}

interface Place {
  readonly reply_markup?: InlineKeyboardMarkup;
  readonly chat_id: string;
  readonly message_thread_id?: number;
  readonly reply_parameters?: ReplyParameters;
}

type Refused = Extract<BotCall<never>, { status: "refused" }>;
type Sent = BotCall<{ message_id: number }>;

export async function sendText(sender: Sender, delivery: OutgoingDelivery, signal: AbortSignal): Promise<SendResult> {
  const { text = "", action } = delivery.payload;
  if (action) return changeMessage(sender, delivery, action, signal);
  const place = placeOf(delivery);
  const [file] = delivery.payload.files ?? [];
  if (file) {
    const { chat_id, message_thread_id } = place;
    const sent = await sender.rates.paced(chat_id, signal, () =>
      sendFile(sender, { chat_id, message_thread_id }, file, signal),
    );
    return "call" in sent ? resultOf(sender, place, sent.call) : sent;
  }
  if (text.trim() === "") return { status: "refused", reason: "a message without text" };
  const call = await inSomeForm(sender, place, text, signal);
  if (call.status === "refused") {
    const other = otherPlace(place, call);
    if (other) {
      sender.warn(other.why, { chat: place.chat_id });
      return resultOf(sender, other.place, await inSomeForm(sender, other.place, text, signal));
    }
  }
  return resultOf(sender, place, call);
}

function placeOf({ target, payload }: OutgoingDelivery): Place {
  const chat = target.to ?? "";
  const thread = target.threadId === undefined ? undefined : Number(target.threadId);
  const message = Number(payload.replyToId);
  // In a private chat it is clear what is answered, unless a reply was asked for.
  const answers = (chat.startsWith("-") || payload.asReply) && Number.isSafeInteger(message) && message > 0;
  return {
    chat_id: chat,
    message_thread_id: Number.isSafeInteger(thread) ? thread : undefined,
    reply_parameters: answers ? { message_id: message, allow_sending_without_reply: true } : undefined,
    reply_markup: payload.buttons && keyboardOf(payload.buttons),
  };
}

/** One button in each row: labels may be long. */
export const keyboardOf = (buttons: readonly Button[]): InlineKeyboardMarkup => ({
  inline_keyboard: buttons.map(({ label, token, style }) => [
    { text: label, callback_data: token, style: style && STYLES[style] },
  ]),
});

const STYLES = { yes: "success", no: "danger" } as const;

/** Changing a message twice is the same as once, so an unknown outcome is tried again. */
async function changeMessage(
  { api, rates }: Sender,
  { target, payload }: OutgoingDelivery,
  action: NonNullable<Payload["action"]>,
  signal: AbortSignal,
): Promise<SendResult> {
  const place = { chat_id: target.to ?? "", message_id: Number(action.messageId) };
  const call = await rates.paced(place.chat_id, signal, callFor);
  if (call.status === "refused" && /not modified|to delete not found/iu.test(call.reason)) return { status: "sent" };
  if (call.status === "ok") return { status: "sent", receipt: action.messageId };
  const result = resultOf({ rates } as Sender, place, call);
  return result.status === "unknown" ? { status: "retry", reason: result.reason } : result;

  function callFor(): Promise<BotCall<unknown>> {
    switch (action.do) {
      case "edit": {
        const text = toTelegramHtml(payload.text ?? "");
        return api.call("editMessageText", { ...place, text, parse_mode: "HTML" }, signal);
      }
      case "delete":
        return api.call("deleteMessage", place, signal);
      case "react": {
        const reaction = [{ type: "emoji", emoji: action.emoji ?? "👍" } as ReactionTypeEmoji];
        return api.call("setMessageReaction", { ...place, reaction }, signal);
      }
    }
  }
}

/** Rich if the text gains by it, else HTML; plain if the server cannot read our markup. */
async function inSomeForm(sender: Sender, place: Place, text: string, signal: AbortSignal): Promise<Sent> {
  const { api, rates } = sender;
  const rich = toRichMessage(text);
  if (rich) {
    const sendRich = () => api.call("sendRichMessage", { ...place, rich_message: rich }, signal);
    const call = await rates.paced(place.chat_id, signal, sendRich);
    if (!isFormRefused(call)) return call;
    sender.warn("a rich message was refused and is sent as HTML", { reason: call.reason });
  }
  const markup = { ...place, text: toTelegramHtml(text), parse_mode: "HTML" } as const;
  const html = await rates.paced(place.chat_id, signal, () => api.call("sendMessage", markup, signal));
  if (html.status !== "refused" || !/parse entities|entity|too long/iu.test(html.reason)) return html;
  sender.warn("a text was refused as HTML and is sent as plain text", { reason: html.reason });
  return rates.paced(place.chat_id, signal, () => api.call("sendMessage", { ...place, text }, signal));
}

/** The server has no such method, or does not take these blocks. A chat that is gone or blocked is another matter. */
const isFormRefused = (call: Sent): call is Refused =>
  call.status === "refused" &&
  (call.code === 404 || (call.code === 400 && !/chat|thread|topic|user|right|reply/iu.test(call.reason)));

/** Where to send instead: a group that has moved, or a chat whose topic is gone. */
function otherPlace(place: Place, { reason, migrateTo }: Refused): { place: Place; why: string } | undefined {
  if (migrateTo !== undefined) return { place: { ...place, chat_id: migrateTo }, why: "a group has a new id" };
  if (place.message_thread_id === undefined || !/thread not found|topic/iu.test(reason)) return undefined;
  return {
    place: { ...place, message_thread_id: undefined },
    why: "a topic is gone; its messages go to the chat itself",
  };
}

function resultOf({ rates }: Sender, { chat_id: chat }: Pick<Place, "chat_id">, call: BotCall<unknown>): SendResult {
  switch (call.status) {
    case "ok": {
      const id = (call.result as { message_id?: unknown } | undefined)?.message_id;
      return { status: "sent", receipt: id === undefined ? undefined : String(id) };
    }
    case "not-sent":
      return { status: "retry", reason: call.reason };
    case "unknown":
      return { status: "unknown", reason: call.reason };
    case "refused":
      if (call.code !== 429) return { status: "refused", reason: call.reason };
      rates.pause(call.retryAfterMs ?? DEFAULT_PAUSE_MS, chat);
      return { status: "retry", reason: call.reason, afterMs: call.retryAfterMs ?? DEFAULT_PAUSE_MS };
  }
}

const DEFAULT_PAUSE_MS = 5_000;
