/**
 * Takes the word HEARTBEAT_OK off a text's edges: by it an agent says that nothing needs attention. Also where the word
 * stands in simple markup. A word in the middle of a text is part of the text; line breaks of what is delivered stay.
 */
export const HEARTBEAT_TOKEN = "HEARTBEAT_OK";
export const DEFAULT_HEARTBEAT_ACK_MAX_CHARS = 300;

export interface StrippedText {
  /** Nothing is left that somebody needs to read. */
  readonly shouldSkip: boolean;
  readonly text: string;
  readonly didStrip: boolean;
}

/** `mode: "heartbeat"`: a short rest beside the word is an acknowledgement too, and skipped. */
export function stripHeartbeatToken(
  raw?: string,
  opts: { readonly mode?: "heartbeat" | "message"; readonly maxAckChars?: number } = {},
): StrippedText {
  const text = (raw ?? "").trim();
  if (text === "") return { shouldSkip: true, text: "", didStrip: false };
  const plain = withoutMarkup(text);
  if (!text.includes(HEARTBEAT_TOKEN) && !plain.includes(HEARTBEAT_TOKEN)) {
    return { shouldSkip: false, text, didStrip: false };
  }
  const asWritten = stripEdges(text);
  const found = asWritten.didStrip && asWritten.text !== "" ? asWritten : stripEdges(plain);
  if (!found.didStrip) return { shouldSkip: false, text, didStrip: false };
  if (found.text === "") return { shouldSkip: true, text: "", didStrip: true };
  const { mode = "message", maxAckChars = DEFAULT_HEARTBEAT_ACK_MAX_CHARS } = opts;
  if (mode === "heartbeat" && found.text.length <= Math.max(0, maxAckChars)) {
    return { shouldSkip: true, text: "", didStrip: true };
  }
  return { shouldSkip: false, text: found.text, didStrip: true };
}

/** Tags and fixed spaces as spaces, marks of emphasis and code taken off the edges. */
const withoutMarkup = (text: string): string =>
  text
    .replace(/<[^>]*>/gu, " ")
    .replace(/&nbsp;/giu, " ")
    .replace(/^[*`~_\s]+/u, "")
    .replace(/[*`~_\s]+$/u, "");

/** Removes the word at both ends as often as it stands there. */
function stripEdges(raw: string): { text: string; didStrip: boolean } {
  let text = raw.trim();
  let didStrip = false;
  for (let again = true; again && text !== ""; ) {
    again = false;
    if (text.startsWith(HEARTBEAT_TOKEN)) {
      text = text.slice(HEARTBEAT_TOKEN.length).trimStart();
      again = didStrip = true;
    } else if (text.endsWith(HEARTBEAT_TOKEN)) {
      text = text.slice(0, -HEARTBEAT_TOKEN.length).trimEnd();
      again = didStrip = true;
    }
  }
  return { text, didStrip };
}
