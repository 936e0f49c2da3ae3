/**
 * Reads one value of a webhook: which person said what, and what became of our messages. Pure, and bounded by the size of the value. What
 * has the wrong form is `ignored` with a reason, never an error: one event must not stop the others (L14).
 */
import { createHash } from "node:crypto";
import type { DeliveryId } from "../../../core/ids.ts";
import { type ChatMessage, type ChatReaction, oneLine, type Quoted } from "../chat/chat-message.ts";
import { contentOf } from "./describe-content.ts";
import { statusOf } from "./status-of.ts";

export interface ReadPress {
  readonly kind: "press";
  readonly chatId: string;
  readonly isGroup: boolean;
  readonly userId: string;
  readonly userName: string;
  readonly messageId: string;
  readonly data: string;
}

/** A message was deleted by its sender. */
interface ReadRevoke {
  readonly kind: "revoke";
  readonly chatId: string;
  readonly isGroup: boolean;
  readonly userId: string;
  readonly userName: string;
  readonly messageId: string;
  readonly revokeId: string;
  readonly sentAt: number;
}

/** What became of a message of ours. */
export interface ReadStatus {
  readonly kind: "status";
  readonly deliveryId: DeliveryId;
  readonly attempt?: number;
  readonly chatId: string;
  readonly status: "arrived" | "failed";
  readonly receipt: string;
  readonly code?: number;
  readonly reason?: string;
}

type ReadEvent =
  | ({ readonly kind: "message" } & ChatMessage)
  | ({ readonly kind: "reaction" } & ChatReaction)
  | ReadPress
  | ReadRevoke
  | ReadStatus
  | { readonly kind: "ignored"; readonly reason: string };

/** One event, with the id by which its tries are counted and the chat in whose order it is handled. */
export interface Event {
  readonly id: string;
  readonly chat: string;
  readonly read: ReadEvent;
}

/** One change of a webhook: everything in it is about one phone number of ours. */
export interface Value {
  readonly phoneNumberId: string;
  /** Our own number, in digits. */
  readonly ourNumber: string;
  readonly events: readonly Event[];
}

type Fields = Readonly<Record<string, unknown>>;

const MAX_ID = 250;

/** Every value of a webhook's body. Those that are not about messages have no events. */
export function readBody(body: unknown): readonly Value[] {
  const { object, entry } = (body ?? {}) as Fields;
  if (object !== "whatsapp_business_account") return [];
  return listOf(entry).flatMap((one) => listOf(fieldsOf(one).changes).flatMap((change) => valuesIn(fieldsOf(change))));
}

function valuesIn({ field, value }: Fields): readonly Value[] {
  if (field !== "messages") return [];
  const { metadata, contacts, messages, statuses } = fieldsOf(value);
  const { phone_number_id: phoneNumberId, display_phone_number: shown } = fieldsOf(metadata);
  if (typeof phoneNumberId !== "string") return [];
  const ourNumber = digits(shown);
  const people = listOf(contacts).map(fieldsOf);
  const events = [
    ...listOf(messages).map((one) => eventOf(one, () => readMessage(fieldsOf(one), people, ourNumber))),
    ...listOf(statuses).map((one) => eventOf(one, () => readStatus(fieldsOf(one)))),
  ];
  return [{ phoneNumberId: phoneNumberId.slice(0, 64), ourNumber, events }];
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const fieldsOf = (value: unknown): Fields => (typeof value === "object" && value !== null ? (value as Fields) : {});
const digits = (value: unknown): string => (typeof value === "string" ? value.replaceAll(/\D/gu, "").slice(0, 32) : "");

function eventOf(raw: unknown, read: () => ReadEvent): Event {
  const { id, status } = fieldsOf(raw);
  const name = `${typeof id === "string" ? id.slice(0, MAX_ID) : "?"}${typeof status === "string" ? `/${status.slice(0, 20)}` : ""}`;
  try {
    const event = read();
    return { id: name, chat: "chatId" in event ? event.chatId : "", read: event };
  } catch (error) {
    // The form of an event is not checked field by field: what is missing shows here.
    const why = error instanceof Error ? error.message.slice(0, 200) : "?";
    return { id: name, chat: "", read: { kind: "ignored", reason: `malformed: ${why}` } };
  }
}

/** An id of the channel. Throws if it is none. */
function idIn(value: unknown, what: string): string {
  if (typeof value !== "string" || !/^[!-~]{1,250}$/u.test(value)) throw new TypeError(`a message without ${what}`);
  return value;
}

/** Seconds, as text. */
function timeIn(value: unknown): number {
  const seconds = typeof value === "string" && /^\d{1,11}$/u.test(value) ? Number(value) : value;
  if (!Number.isSafeInteger(seconds) || (seconds as number) < 0 || (seconds as number) > 1e11)
    throw new TypeError("a message without its time");
  return (seconds as number) * 1_000;
}

function readMessage(message: Fields, contacts: readonly Fields[], ourNumber: string): ReadEvent {
  const { id, from, from_user_id: scoped, group_id: group, timestamp, type, context } = message;
  const messageId = idIn(id, "its id");
  // A person who hides the phone number has only an id for this business.
  const userId = idIn(from ?? scoped, "a sender");
  const isGroup = group !== undefined && group !== null;
  const chatId = isGroup ? idIn(group, "its group") : userId;
  const sentAt = timeIn(timestamp);
  const contact =
    contacts.find((one) => one.wa_id === userId || one.user_id === userId) ??
    (contacts.length === 1 ? contacts[0] : undefined);
  const userName = oneLine(fieldsOf(contact?.profile).name) || userId;
  const place = { chatId, isGroup, userId, userName };
  switch (type) {
    case "reaction": {
      const { message_id: to, emoji } = fieldsOf(message.reaction);
      if (typeof emoji !== "string" || emoji === "")
        return { kind: "ignored", reason: "a reaction that was taken back" };
      const about = { messageId: idIn(to, "what it reacts to"), emoji: emoji.slice(0, 40) };
      return { kind: "reaction", ...place, ...about, sentAt, reactionId: messageId };
    }
    case "revoke": {
      const to = idIn(fieldsOf(message.revoke).original_message_id, "what it deletes");
      return { kind: "revoke", ...place, messageId: to, revokeId: messageId, sentAt };
    }
    case "button":
    case "interactive": {
      const data = pressedIn(message);
      if (data !== undefined) return { kind: "press", ...place, messageId, data: data.slice(0, 64) };
      break;
    }
    case "system":
      return { kind: "ignored", reason: "a notice of the channel" };
  }
  const edit = type === "edit" ? fieldsOf(message.edit) : undefined;
  const content = contentOf(edit ? fieldsOf(edit.message) : message);
  const replyTo = quotedIn(fieldsOf(context), ourNumber);
  return {
    ...{ kind: "message", ...place, sentAt, ...content, typed: true, replyTo },
    messageId: edit ? idIn(edit.original_message_id, "what it changes") : messageId,
    revision: edit ? revisionOf(sentAt, messageId) : undefined,
    forwarded: fieldsOf(context).forwarded === true || fieldsOf(context).frequently_forwarded === true ? "" : undefined,
    addressed: !isGroup || replyTo?.isOurs === true || (ourNumber !== "" && content.text.includes(`@${ourNumber}`)),
  };
}

/** Another number for each edit, also of two in one second; later edits have larger ones. */
const revisionOf = (sentAt: number, id: string): number =>
  (sentAt / 1_000) * 2 ** 20 + (createHash("sha256").update(id).digest().readUInt32BE(0) >>> 12);

/** What the button was sent with. */
function pressedIn(message: Fields): string | undefined {
  const { button_reply: button, list_reply: row } = fieldsOf(message.interactive);
  const chosen = message.type === "button" ? fieldsOf(message.button).payload : fieldsOf(button ?? row).id;
  return typeof chosen === "string" && chosen !== "" ? chosen : undefined;
}

/** The channel names the message that is answered, and does not show it. */
function quotedIn({ id, from }: Fields, ourNumber: string): Quoted | undefined {
  if (typeof id !== "string" || !/^[!-~]{1,250}$/u.test(id)) return undefined;
  const userId = typeof from === "string" ? from.slice(0, MAX_ID) : undefined;
  const isOurs = userId !== undefined && ourNumber !== "" && digits(userId) === ourNumber;
  return { messageId: id, typed: false, userId, userName: userId ?? "someone", text: "", isOurs };
}

const ARRIVED: ReadonlySet<unknown> = new Set(["sent", "delivered", "read", "played"]);

function readStatus(status: Fields): ReadEvent {
  const { id, status: now, biz_opaque_callback_data: ours, recipient_id: to, errors } = status;
  if (typeof ours !== "string" || ours === "") return { kind: "ignored", reason: "not of a delivery" };
  const common = { kind: "status", ...statusOf(ours.slice(0, MAX_ID)), receipt: idIn(id, "its id") } as const;
  const chatId = typeof to === "string" ? to.slice(0, MAX_ID) : "";
  if (ARRIVED.has(now)) return { ...common, chatId, status: "arrived" };
  if (now !== "failed") return { kind: "ignored", reason: `a status that is not known: ${oneLine(now, 40)}` };
  const error = fieldsOf(listOf(errors)[0]);
  const code = Number.isSafeInteger(error.code) ? (error.code as number) : undefined;
  const said = oneLine(fieldsOf(error.error_data).details, 200) || oneLine(error.title, 200);
  return { ...common, chatId, status: "failed", code, reason: `${code ?? "?"}: ${said || "no reason given"}` };
}
