/** The bodies of messages to the Graph API. Pure. */
import { cutText } from "../../../core/cut-text.ts";
import type { Button } from "../../../core/delivery/delivery.ts";
import { VOICE_TYPE } from "../chat/voice-type.ts";

export type Body = Readonly<Record<string, unknown>> & { readonly text?: object };

export interface Template {
  readonly name: string;
  readonly language: string;
}

/** The longest text that the server takes, and the longest above buttons. */
const MAX_TEXT = 4_096;
const MAX_ABOVE_BUTTONS = 1_024;
const MAX_BUTTONS = 3;
const MAX_BUTTON_TITLE = 20;
const MAX_ROW_TITLE = 24;
const MAX_ROW_DESCRIPTION = 72;
const MAX_PARAMETER = 1_000;

/** To whom: a phone number, an id that a business has for a person, or a group. */
export function recipientOf(chat: string): Body {
  if (/^\d{1,20}$/u.test(chat)) return { recipient_type: "individual", to: chat };
  if (/^[A-Z]{2}\.\w+$/u.test(chat)) return { recipient_type: "individual", recipient: chat };
  return { recipient_type: "group", to: chat };
}

export const isGroupChat = (chat: string): boolean => recipientOf(chat).recipient_type === "group";

/** A text that is longer with our markup than the server takes is sent without it. */
export const textBody = (marked: string, plain: string): Body => ({
  type: "text",
  text: { body: marked.length <= MAX_TEXT ? marked : plain },
});

/** Up to three short ones are buttons; others are rows of a list, with the whole label below the title. */
export function choicesBody(text: string, buttons: readonly Button[]): Body {
  const areShort = buttons.every(({ label }) => label.length <= MAX_BUTTON_TITLE);
  if (buttons.length <= MAX_BUTTONS && areShort && text.length <= MAX_ABOVE_BUTTONS) {
    const shown = buttons.map(({ token, label }) => ({ type: "reply", reply: { id: token, title: label } }));
    return { type: "interactive", interactive: { type: "button", body: { text }, action: { buttons: shown } } };
  }
  const rows = buttons.map(({ token, label }, index) => ({
    id: token,
    title: label.length <= MAX_ROW_TITLE ? label : `${index + 1}. ${cutText(label, MAX_ROW_TITLE - 5)}`,
    description: label.length <= MAX_ROW_TITLE ? undefined : cutText(label, MAX_ROW_DESCRIPTION),
  }));
  return {
    type: "interactive",
    interactive: {
      ...{ type: "list", body: { text: cutText(text, MAX_TEXT) } },
      action: { button: "Choose", sections: [{ title: "Answers", rows }] },
    },
  };
}

/** The text is the one parameter of the template's body, which takes no line breaks. */
export const templateBody = ({ name, language }: Template, text: string): Body => ({
  type: "template",
  template: {
    ...{ name, language: { code: language } },
    components: [
      {
        type: "body",
        parameters: [{ type: "text", text: cutText(text.replaceAll(/\s+/gu, " ").trim(), MAX_PARAMETER) }],
      },
    ],
  },
});

export const reactionBody = (messageId: string, emoji: string): Body => ({
  type: "reaction",
  reaction: { message_id: messageId, emoji },
});

const MB = 1_000_000;
const MAX_CAPTION = 1_024;

/** How the server shows a file. `voice`: as a recording of someone who speaks. */
export interface MediaKind {
  readonly type: "image" | "video" | "audio" | "document";
  readonly voice?: true;
  readonly limit: number;
}

const DOCUMENT: MediaKind = { type: "document", limit: 100 * MB };
const KINDS: readonly (readonly [RegExp, MediaKind])[] = [
  [/^image\/(?:jpeg|png)$/u, { type: "image", limit: 5 * MB }],
  [/^video\/(?:mp4|3gpp)$/u, { type: "video", limit: 16 * MB }],
  [VOICE_TYPE, { type: "audio", voice: true, limit: 16 * MB }],
  [/^audio\/(?:ogg|mpeg|aac|amr|mp4|x-m4a)$/u, { type: "audio", limit: 16 * MB }],
];

/** By the media type, and how large it may be. What is too large to be shown is still a document. */
export function mediaKindOf(mimeType: string, size: number): MediaKind {
  const [, kind = DOCUMENT] = KINDS.find(([types]) => types.test(mimeType)) ?? [];
  return size <= kind.limit ? kind : DOCUMENT;
}

/** As the server calls the type. It takes plain text and no other kind of text; the name of the file says what it is. */
export function uploadTypeOf(mimeType: string): string {
  const [base = ""] = mimeType.split(";");
  if (base === "audio/x-m4a") return "audio/mp4";
  return /^text\/|^application\/(?:json|xml)$|^image\/svg\+xml$/u.test(base) ? "text/plain" : base.trim();
}

/** Undefined: the text does not fit there. A recording has no caption, so with one it is a document. */
export function mediaBody({ type, voice }: MediaKind, id: string, name: string, text = ""): Body | undefined {
  if (text.length > MAX_CAPTION) return undefined;
  const caption = text === "" ? undefined : text;
  if (type === "audio" && caption === undefined) return { type, audio: { id, voice } };
  const shown = type === "audio" ? "document" : type;
  return { type: shown, [shown]: { id, caption, filename: shown === "document" ? name : undefined } };
}
