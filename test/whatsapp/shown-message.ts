/** What the fake makes of a message: what a person sees, or why the server refuses it. */
import type { Json } from "./json.ts";

export interface Uploaded {
  readonly type: string;
  readonly name: string;
  readonly content: string;
}

/** The types that the server takes, as its own refusal lists them. */
const UPLOAD_TYPES = [
  ...["audio/aac", "audio/mp4", "audio/mpeg", "audio/amr", "audio/ogg", "audio/opus", "application/vnd.ms-powerpoint"],
  ...["application/msword", "application/pdf", "text/plain", "application/vnd.ms-excel", "image/jpeg", "image/png"],
  ...["image/webp", "video/mp4", "video/3gpp"],
];

/** The file of a form; a text if the server would refuse it. */
export function uploadedIn(raw: Buffer, header: string): Uploaded | string {
  const text = raw.toString("latin1");
  const type = /name="type"\r\n\r\n([^\r]+)/u.exec(text)?.[1] ?? "";
  const part = /name="file"; filename="([^"]*)"\r\nContent-Type: ([^\r]+)\r\n\r\n/iu.exec(text);
  if (!header.includes("multipart") || type === "" || !part) return "Invalid parameter";
  const [whole, name = "", partType = ""] = part;
  const isKnown = UPLOAD_TYPES.includes(type) && UPLOAD_TYPES.includes(partType);
  if (!isKnown) return `Param file must be a file with one of the following types: ${UPLOAD_TYPES.join(", ")}`;
  const start = part.index + whole.length;
  return { type, name, content: text.slice(start, text.indexOf("\r\n--", start)) };
}

export interface Shown {
  readonly text: string;
  readonly buttons: readonly { readonly id: string; readonly title: string }[];
}

/** What a person sees; a text if the server would refuse it. */
export function shownOf(type: string, body: Json, uploads: ReadonlyMap<string, Uploaded>): Shown | string {
  const part = (body[type] ?? {}) as Json;
  const plain = (text: string): Shown => ({ text, buttons: [] });
  switch (type) {
    case "text":
      return lengthOf(part.body, 4_096) ?? plain(String(part.body));
    case "reaction":
      return plain(String(part.emoji));
    case "template": {
      const [component] = (part.components ?? []) as { parameters: { text: string }[] }[];
      const text = component?.parameters[0]?.text ?? "";
      return /[\n\t]| {5}/u.test(text) ? "Parameter text cannot have new-line" : plain(`[${part.name}] ${text}`);
    }
    case "interactive":
      return interactiveOf(part);
    default:
      if (!["image", "video", "audio", "document", "sticker"].includes(type)) return `Unsupported type ${type}`;
      return mediaOf(type, part, uploads.get(String(part.id)));
  }
}

const SHOWN_TYPES: Readonly<Record<string, RegExp>> = {
  image: /^image\/(?:jpeg|png)$/u,
  video: /^video\//u,
  audio: /^audio\//u,
  sticker: /^image\/webp$/u,
};

function mediaOf(type: string, part: Json, file: Uploaded | undefined): Shown | string {
  if (!file) return "Media is not there";
  if (SHOWN_TYPES[type]?.test(file.type) === false) return `Media of the type ${file.type} is no ${type}`;
  if (type !== "document" && part.filename !== undefined) return "Unexpected key filename";
  if (type === "audio" && part.caption !== undefined) return "Unexpected key caption";
  const caption = part.caption === undefined ? "" : ` ${part.caption}`;
  if (caption.length > 1_025) return "The caption is too long";
  return { text: `[${part.voice ? "voice" : type}: ${part.filename ?? ""}]${caption}`, buttons: [] };
}

function lengthOf(value: unknown, limit: number): string | undefined {
  if (typeof value !== "string" || value.trim() === "") return "The text is empty";
  return value.length > limit ? `The text is longer than ${limit}` : undefined;
}

function interactiveOf(part: Json): Shown | string {
  const { text } = part.body as { text: string };
  const action = part.action as Json;
  if (part.type === "button") {
    const buttons = (action.buttons as { reply: { id: string; title: string } }[]).map(({ reply }) => reply);
    const bad = buttons.length > 3 || buttons.some(({ id, title }) => title.length > 20 || id.length > 256);
    return bad ? "Invalid buttons" : (lengthOf(text, 1_024) ?? { text, buttons });
  }
  const sections = action.sections as { rows: { id: string; title: string; description?: string }[] }[];
  const rows = sections.flatMap((one) => one.rows);
  const titles = new Set(rows.map(({ title }) => title));
  const bad =
    rows.length > 10 ||
    titles.size !== rows.length ||
    rows.some(({ title, description = "" }) => title.length > 24 || description.length > 72);
  return bad ? "Invalid rows" : (lengthOf(text, 4_096) ?? { text, buttons: rows });
}
