/** What a message of Telegram says: its own text or caption, and a line for all that is not text. Nothing is left out silently. */
import type { Message } from "grammy/types";
import type { ChatMessage, RemoteFile } from "../chat/chat-message.ts";

type Content = Required<Pick<ChatMessage, "text" | "notes" | "files">>;

const MAX_NAME = 200;
const cut = (text: string | undefined, limit = MAX_NAME): string => (text ?? "").slice(0, limit);
const line = (text: string): string => text.replaceAll(/\s+/gu, " ").trim();

export function contentOf(message: Message): Content {
  const files = filesOf(message);
  const said: unknown = message.text ?? message.caption ?? "";
  if (typeof said !== "string") throw new TypeError("a text that is none");
  const notes = notesOf(message);
  const unknown = said === "" && files.length === 0 && notes.length === 0 ? [unknownNote(message)] : [];
  return { text: said, notes: [...notes, ...unknown], files };
}

function filesOf(message: Message): readonly RemoteFile[] {
  const { photo, document, voice, audio, video, video_note: note, animation, sticker } = message;
  const largest = photo?.reduce((a, b) => (b.width * b.height > a.width * a.height ? b : a));
  const files: (RemoteFile | undefined)[] = [
    largest && {
      fileId: largest.file_id,
      name: "photo.jpg",
      mimeType: "image/jpeg",
      size: largest.file_size,
      what: "photo",
    },
    // An animation is a document too, for older clients.
    document && !animation
      ? fileOf("document", document, document.file_name ?? "document", document.mime_type)
      : undefined,
    voice && fileOf("voice message", voice, "voice.ogg", voice.mime_type ?? "audio/ogg"),
    audio && fileOf("audio", audio, audio.file_name ?? "audio.mp3", audio.mime_type),
    video && fileOf("video", video, video.file_name ?? "video.mp4", video.mime_type),
    note && fileOf("video message", note, "video.mp4", "video/mp4"),
    animation && fileOf("animation", animation, animation.file_name ?? "animation.mp4", animation.mime_type),
    sticker && !sticker.is_animated && !sticker.is_video
      ? fileOf("sticker", sticker, "sticker.webp", "image/webp")
      : undefined,
  ];
  return files.filter((one) => one !== undefined);
}

const fileOf = (
  what: string,
  file: { readonly file_id: string; readonly file_size?: number },
  name: string,
  mimeType?: string,
): RemoteFile => ({
  fileId: file.file_id,
  name: cut(line(name)) || what,
  mimeType: mimeType && cut(mimeType, 100),
  size: file.file_size,
  what,
});

/** A line for each part of a message that is neither text nor a file. */
function notesOf(message: Message): readonly string[] {
  const { sticker, location, venue, contact, poll, dice, checklist, story, game, invoice } = message;
  return [
    sticker ? `[sticker${sticker.emoji ? ` ${sticker.emoji}` : ""}]` : "",
    venue ? `[place: ${line(cut(venue.title))}, ${line(cut(venue.address))}]` : "",
    location ? `[location: ${location.latitude}, ${location.longitude}]` : "",
    contact
      ? `[contact: ${line(cut([contact.first_name, contact.last_name].filter(Boolean).join(" ")))}, ${cut(contact.phone_number, 40)}]`
      : "",
    poll
      ? `[poll: ${line(cut(poll.question, 500))} – ${poll.options.map(({ text }) => line(cut(text))).join(" | ")}]`
      : "",
    dice ? `[dice ${dice.emoji}: ${dice.value}]` : "",
    checklist
      ? `[checklist: ${line(cut(checklist.title))} – ${checklist.tasks.map(({ text }) => line(cut(text))).join(" | ")}]`
      : "",
    story ? "[a story, which cannot be shown here]" : "",
    game ? `[game: ${line(cut(game.title))}]` : "",
    invoice ? `[invoice: ${line(cut(invoice.title))}]` : "",
  ].filter((note) => note !== "");
}

/** Fields that every message has. */
const COMMON = new Set(
  "message_id message_thread_id from sender_chat chat date edit_date reply_to_message via_bot is_topic_message quote external_reply".split(
    " ",
  ),
);

function unknownNote(message: Message): string {
  const kind = Object.keys(message).find((key) => !COMMON.has(key));
  return `[a message that cannot be shown here${kind === undefined ? "" : `: ${kind.replaceAll("_", " ").slice(0, 60)}`}]`;
}
