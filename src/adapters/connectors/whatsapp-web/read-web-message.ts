/**
 * Reads one message of WhatsApp Web: which person said what. Pure. People are known by their phone number if WhatsApp shows it, else by their
 * LID; both are read, so that one can be found by the other. What has the wrong form is `ignored`, never an error (L14).
 */
import { createHash } from "node:crypto";
import { type ChatMessage, type ChatReaction, oneLine, type Quoted, type RemoteFile } from "../chat/chat-message.ts";
import type { WebKey, WebMessage } from "./web-port.ts";

/** Our own messages have ids that begin so: a message of our account that does not is written by its owner, on the phone. */
export const OWN_ID = "RKRY";

export const messageIdOf = (deliveryId: string): string =>
  `${OWN_ID}${createHash("sha256").update(deliveryId).digest("hex").slice(0, 24).toUpperCase()}`;

export interface Self {
  /** Digits of the phone number; empty while no one is logged in. */
  readonly phone: string;
  readonly lid?: string;
}

type ReadWeb =
  | ({ readonly kind: "message"; readonly lid?: string } & ChatMessage)
  | ({ readonly kind: "reaction" } & ChatReaction)
  | ({ readonly kind: "revoke"; readonly revokeId: string } & Omit<ChatReaction, "emoji" | "reactionId">)
  | { readonly kind: "ignored"; readonly reason: string };

type Fields = Readonly<Record<string, unknown>>;

const fieldsOf = (value: unknown): Fields => (typeof value === "object" && value !== null ? (value as Fields) : {});
const textOf = (value: unknown): string => (typeof value === "string" ? value : "");

/** The user of a jid without its device: `49170:3@s.whatsapp.net` is `49170`. */
export const userOf = (jid: unknown): string => /^([\w-]{1,64})(?::\d+)?@/u.exec(textOf(jid))?.[1] ?? "";
const isPhone = (jid: unknown): boolean => textOf(jid).endsWith("@s.whatsapp.net");
const isLid = (jid: unknown): boolean => textOf(jid).endsWith("@lid");
const isGroupJid = (jid: unknown): boolean => textOf(jid).endsWith("@g.us");

export interface KnownIds {
  /** The phone number of a LID, if it was seen before. */
  phoneOf(lid: string): string | undefined;
}

export function readWebMessage(message: WebMessage, self: Self, known: KnownIds): ReadWeb {
  try {
    return readKnown(message, self, known);
  } catch (error) {
    return { kind: "ignored", reason: `malformed: ${error instanceof Error ? error.message.slice(0, 200) : "?"}` };
  }
}

/** Both ids of a person: the number, and the LID. */
function personOf(one: unknown, other: unknown, known: KnownIds): { readonly userId: string; readonly lid?: string } {
  const lid = [one, other].find(isLid);
  const phone = [one, other].find(isPhone);
  const lidUser = lid === undefined ? undefined : userOf(lid);
  const number = phone === undefined ? lidUser && known.phoneOf(lidUser) : userOf(phone);
  const userId = number || (lidUser && `${lidUser}@lid`);
  if (!userId) throw new TypeError("a message without a sender");
  return { userId, lid: lidUser };
}

function readKnown(message: WebMessage, self: Self, known: KnownIds): ReadWeb {
  const { key, pushName, messageTimestamp } = message;
  const id = textOf(key?.id);
  if (!/^[!-~]{1,200}$/u.test(id)) throw new TypeError("a message without its id");
  const jid = textOf(key.remoteJid);
  if (jid === "status@broadcast" || jid.endsWith("@newsletter") || jid.endsWith("@broadcast"))
    return { kind: "ignored", reason: "not a chat" };
  const isGroup = isGroupJid(jid);
  const isSelf =
    !isGroup &&
    [jid, key.remoteJidAlt].map(userOf).some((one) => one !== "" && (one === self.phone || one === self.lid));
  if (id.startsWith(OWN_ID)) return { kind: "ignored", reason: "our own" };
  // What the owner of the number writes to others is not for us.
  if (key.fromMe && !isSelf) return { kind: "ignored", reason: "written by the owner to someone else" };
  const person = key.fromMe
    ? { userId: self.phone, lid: self.lid }
    : isGroup
      ? personOf(key.participant, key.participantAlt, known)
      : personOf(jid, key.remoteJidAlt, known);
  const seconds = typeof messageTimestamp === "object" ? messageTimestamp?.toNumber() : messageTimestamp;
  if (!Number.isSafeInteger(seconds) || (seconds as number) < 0 || (seconds as number) > 1e11)
    throw new TypeError("a message without its time");
  const sentAt = (seconds as number) * 1_000;
  const place = {
    ...{ chatId: isGroup ? jid : person.userId, isGroup, userId: person.userId, sentAt },
    userName: oneLine(pushName) || person.userId,
  };
  const content = innerOf(fieldsOf(message.message));
  const reaction = fieldsOf(content.reactionMessage);
  if (content.reactionMessage) {
    const about = textOf(fieldsOf(reaction.key).id);
    if (textOf(reaction.text) === "" || about === "")
      return { kind: "ignored", reason: "a reaction that was taken back" };
    return { kind: "reaction", ...place, messageId: about, emoji: textOf(reaction.text).slice(0, 40), reactionId: id };
  }
  const protocol = fieldsOf(content.protocolMessage);
  if (content.protocolMessage) return readProtocol(protocol, { ...place, id }, self);
  return { kind: "message", ...place, lid: person.lid, messageId: id, ...contentOf(content, isGroup, self) };
}

/** What is wrapped in something that says how it is shown. */
function innerOf(message: Fields, depth = 0): Fields {
  const wrapped = [
    "ephemeralMessage",
    "viewOnceMessage",
    "viewOnceMessageV2",
    "documentWithCaptionMessage",
    "editedMessage",
  ]
    .map((name) => fieldsOf(message[name]).message)
    .find((one) => one !== undefined && one !== null);
  return wrapped !== undefined && depth < 5 ? innerOf(fieldsOf(wrapped), depth + 1) : message;
}

const REVOKE = 0;
const EDIT = 14;

function readProtocol(
  { type, key, editedMessage }: Fields,
  place: Pick<ChatMessage, "chatId" | "isGroup" | "userId" | "userName" | "sentAt"> & { readonly id: string },
  self: Self,
): ReadWeb {
  const { id, ...where } = place;
  const about = textOf((key as WebKey | undefined)?.id);
  if (about === "" || about.startsWith(OWN_ID)) return { kind: "ignored", reason: "a notice of the channel" };
  if (type === REVOKE || type === "REVOKE") return { kind: "revoke", ...where, messageId: about, revokeId: id };
  if (type !== EDIT && type !== "MESSAGE_EDIT") return { kind: "ignored", reason: "a notice of the channel" };
  const revision = (place.sentAt / 1_000) * 2 ** 20 + (createHash("sha256").update(id).digest().readUInt32BE(0) >>> 12);
  return {
    kind: "message",
    ...where,
    messageId: about,
    revision,
    ...contentOf(innerOf(fieldsOf(editedMessage)), place.isGroup, self),
  };
}

const FILES = {
  imageMessage: { what: "photo", name: "photo.jpg" },
  videoMessage: { what: "video", name: "video.mp4" },
  audioMessage: { what: "audio", name: "audio.ogg" },
  documentMessage: { what: "document", name: "document" },
  stickerMessage: { what: "sticker", name: "sticker.webp" },
} as const;

function contentOf(message: Fields, isGroup: boolean, self: Self) {
  const kind = (Object.keys(FILES) as (keyof typeof FILES)[]).find((name) => message[name]);
  const part = fieldsOf(kind ? message[kind] : message.extendedTextMessage);
  const context = fieldsOf(part.contextInfo);
  const said = textOf(message.conversation) || textOf(part.text) || textOf(part.caption);
  const files = kind ? [fileOf(kind, part)] : [];
  const notes = notesOf(message);
  const unknown = said === "" && files.length === 0 && notes.length === 0 ? [unknownNote(message)] : [];
  const replyTo = quotedOf(context, self);
  const named = (Array.isArray(context.mentionedJid) ? context.mentionedJid : []).map(userOf);
  const isNamed = named.some((one) => one !== "" && (one === self.phone || one === self.lid));
  const isWritten = self.phone !== "" && said.includes(`@${self.phone}`);
  return {
    ...{ text: said, typed: true, notes: [...notes, ...unknown], files, replyTo },
    forwarded: context.isForwarded === true || Number(context.forwardingScore) > 0 ? "" : undefined,
    addressed: !isGroup || isNamed || isWritten || replyTo?.isOurs === true,
  };
}

function fileOf(kind: keyof typeof FILES, part: Fields): RemoteFile {
  const { what, name } = FILES[kind];
  const size = Number(part.fileLength ?? Number.NaN);
  return {
    fileId: kind,
    name: oneLine(part.fileName ?? part.title, 200) || name,
    mimeType: textOf(part.mimetype).slice(0, 100) || undefined,
    size: Number.isSafeInteger(size) ? size : undefined,
    what: part.ptt === true ? "voice message" : what,
  };
}

function quotedOf(context: Fields, self: Self): Quoted | undefined {
  const messageId = textOf(context.stanzaId).slice(0, 200);
  if (messageId === "") return undefined;
  const userId = userOf(context.participant) || undefined;
  const quoted = innerOf(fieldsOf(context.quotedMessage));
  const text = textOf(quoted.conversation) || textOf(fieldsOf(quoted.extendedTextMessage).text);
  const isOurs =
    messageId.startsWith(OWN_ID) || userId === self.phone || (self.lid !== undefined && userId === self.lid);
  // A quote does not show whether it was forwarded.
  return { messageId, typed: false, userId, userName: userId ?? "someone", text: text.slice(0, 1_000), isOurs };
}

function notesOf({ locationMessage, contactMessage, stickerMessage, pollCreationMessage }: Fields): readonly string[] {
  const [place, contact, poll] = [fieldsOf(locationMessage), fieldsOf(contactMessage), fieldsOf(pollCreationMessage)];
  return [
    stickerMessage ? "[sticker]" : "",
    locationMessage
      ? `[location: ${Number(place.degreesLatitude)}, ${Number(place.degreesLongitude)}${place.name ? `, ${oneLine(place.name)}` : ""}]`
      : "",
    contactMessage ? `[contact: ${oneLine(contact.displayName)}]` : "",
    pollCreationMessage ? `[poll: ${oneLine(poll.name, 500)}]` : "",
  ].filter((note) => note !== "");
}

function unknownNote(message: Fields): string {
  const kind = Object.keys(message).find((name) => name !== "messageContextInfo");
  return `[a message that cannot be shown here${kind === undefined ? "" : `: ${kind.slice(0, 60)}`}]`;
}
