/**
 * Documents through a library that knows only images: a document goes in as an image with its own type, and the request is
 * corrected before it is sent. Google takes it as it is.
 */
import type { ImageContent, TextContent } from "@earendil-works/pi-ai";
import { documentOf } from "../../../core/history/document-block.ts";
import type { Block } from "../../../core/history/entry.ts";

const PDF = "application/pdf";
const PDF_URL = `data:${PDF};base64,`;
type Json = Readonly<Record<string, unknown>>;

/** The blocks of a person's message. */
export const userContent = (content: readonly Block[]): (TextContent | ImageContent)[] =>
  content.flatMap((block): (TextContent | ImageContent)[] => {
    const document = documentOf(block);
    if (document) {
      const { line, mimeType, data } = document;
      return [
        { type: "text", text: line },
        { type: "image", mimeType, data },
      ];
    }
    return block.type === "text" || block.type === "image" ? [block] : [];
  });

/** The request as the provider wants it. Undefined: as it is. */
export function withDocuments(api: string, payload: unknown): unknown {
  const body = payload as Json;
  if (api === "anthropic-messages") return { ...body, messages: listed(body.messages, anthropicPart) };
  if (api === "openai-responses") return { ...body, input: listed(body.input, responsesPart) };
  return undefined;
}

const listed = (messages: unknown, part: (part: Json) => Json): unknown =>
  (messages as readonly Json[]).map((message) =>
    Array.isArray(message.content) ? { ...message, content: message.content.map(part) } : message,
  );

const anthropicPart = (part: Json): Json =>
  part.type === "image" && (part.source as Json | undefined)?.media_type === PDF ? { ...part, type: "document" } : part;

function responsesPart(part: Json): Json {
  if (part.type !== "input_image" || !String(part.image_url).startsWith(PDF_URL)) return part;
  return { type: "input_file", filename: "document.pdf", file_data: part.image_url };
}
