/** What a message of WhatsApp says: its own text or caption, and a line for all that is not text. Nothing is left out silently. */
import { type ChatMessage, oneLine, type RemoteFile } from "../chat/chat-message.ts";

type Content = Required<Pick<ChatMessage, "text" | "notes" | "files">>;

type Fields = Readonly<Record<string, unknown>>;

const FILE_KINDS = {
  image: { what: "photo", name: "photo.jpg" },
  video: { what: "video", name: "video.mp4" },
  audio: { what: "audio", name: "audio.ogg" },
  document: { what: "document", name: "document" },
  sticker: { what: "sticker", name: "sticker.webp" },
} as const;

/** `message`: with its `type` and the part of that name. */
export function contentOf(message: Fields): Content {
  const type = String(message.type);
  const part = (message[type] ?? {}) as Fields;
  const file = type in FILE_KINDS ? fileOf(type as keyof typeof FILE_KINDS, part) : undefined;
  const text = type === "text" ? textIn(part.body) : textIn(part.caption);
  const notes = [...notesOf(type, part, message), ...referralOf(message)];
  return { text, notes, files: file ? [file] : [] };
}

function textIn(value: unknown): string {
  if (value === undefined || value === null) return "";
  if (typeof value !== "string") throw new TypeError("a text that is none");
  return value;
}

function fileOf(type: keyof typeof FILE_KINDS, part: Fields): RemoteFile {
  const { id, mime_type: mime, filename, file_size: size, voice } = part;
  if (typeof id !== "string" || id === "") throw new TypeError("a file without its id");
  const { what, name } = FILE_KINDS[type];
  return {
    fileId: id.slice(0, 200),
    name: oneLine(filename, 200) || name,
    mimeType: typeof mime === "string" ? mime.slice(0, 100) : undefined,
    size: Number.isSafeInteger(size) ? (size as number) : undefined,
    what: voice === true ? "voice message" : what,
  };
}

/** A line for what is neither text nor a file. */
function notesOf(type: string, part: Fields, message: Fields): readonly string[] {
  switch (type) {
    case "text":
    case "image":
    case "video":
    case "audio":
    case "document":
      return [];
    case "sticker":
      return ["[sticker]"];
    case "location": {
      const place = [oneLine(part.name), oneLine(part.address)].filter(Boolean).join(", ");
      return [`[location: ${Number(part.latitude)}, ${Number(part.longitude)}${place === "" ? "" : `, ${place}`}]`];
    }
    case "contacts":
      return listOf(message.contacts).map((one) => `[contact: ${contactText(one)}]`);
    case "interactive":
      return [formText(part)];
    case "order":
      return [`[order: ${listOf(part.product_items).length} products. ${oneLine(part.text, 500)}]`];
    default: {
      const why = oneLine((listOf(message.errors)[0] as Fields | undefined)?.title, 200);
      return [`[a message that cannot be shown here: ${oneLine(type, 60)}${why === "" ? "" : `, ${why}`}]`];
    }
  }
}

const MAX_ITEMS = 20;
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value.slice(0, MAX_ITEMS) : []);

function contactText(contact: unknown): string {
  const { name, phones } = (contact ?? {}) as { name?: { formatted_name?: unknown }; phones?: unknown };
  const numbers = listOf(phones).map((one) => oneLine((one as Fields | null)?.phone, 40));
  return [oneLine(name?.formatted_name), ...numbers].filter((word) => word !== "").join(", ");
}

/** What a person filled in. */
function formText(part: Fields): string {
  const form = part.nfm_reply as { name?: unknown; response_json?: unknown } | undefined;
  if (!form) return `[a message that cannot be shown here: ${oneLine(part.type, 60)}]`;
  return `[form ${oneLine(form.name)}: ${oneLine(form.response_json, 2_000)}]`;
}

/** An advertisement that the person came from. */
function referralOf({ referral }: Fields): readonly string[] {
  if (typeof referral !== "object" || referral === null) return [];
  const { headline, source_url: url } = referral as Fields;
  return [`[came from: ${[oneLine(headline, 200), oneLine(url, 300)].filter(Boolean).join(", ")}]`];
}
