/** Finds what a file is from its content; a name says nothing. Text is what is valid UTF-8 without control characters. */

const UNKNOWN = "application/octet-stream";
/** How much of a text is read to tell what it is. */
const HEAD = 4_096;
/** A longer text is not parsed only to tell that it is JSON (L14). */
const MAX_PARSED = 100_000;

export async function mediaTypeOf(data: Uint8Array): Promise<string> {
  const text = textOf(data);
  if (text !== undefined) return textType(text);
  const { fileTypeFromBuffer } = await import("file-type");
  const found = await fileTypeFromBuffer(data).catch(() => undefined);
  return found?.mime ?? UNKNOWN;
}

/** The file as text; undefined if it is none. */
export function textOf(data: Uint8Array): string | undefined {
  if (data.includes(0)) return undefined;
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(data);
    // A PDF may consist of printable characters only.
    return hasControls(text) || text.startsWith("%PDF-") ? undefined : text;
  } catch {
    return undefined;
  }
}

function hasControls(text: string): boolean {
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    const isSpace = code === 9 || code === 10 || code === 12 || code === 13 || code === 27;
    if ((code < 32 && !isSpace) || code === 127) return true;
  }
  return false;
}

function textType(text: string): string {
  const head = text.slice(0, HEAD).trimStart().toLowerCase();
  if (head.startsWith("<svg") || (head.startsWith("<?xml") && head.includes("<svg"))) return "image/svg+xml";
  if (head.startsWith("<!doctype html") || head.startsWith("<html")) return "text/html";
  if (head.startsWith("<?xml")) return "application/xml";
  if (head.startsWith("{") || head.startsWith("[")) return isJson(text) ? "application/json" : "text/plain";
  return "text/plain";
}

function isJson(text: string): boolean {
  if (text.length > MAX_PARSED) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
