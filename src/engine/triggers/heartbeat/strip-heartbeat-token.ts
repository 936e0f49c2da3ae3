/**
 * Removes HEARTBEAT_OK from the start and the end of a text, also inside simple markup: with it an agent says that nothing
 * needs attention. In the middle it is part of the text. Line breaks stay. Linear in the text.
 */
export const HEARTBEAT_TOKEN = "HEARTBEAT_OK";
export const DEFAULT_HEARTBEAT_ACK_MAX_CHARS = 300;

interface StrippedText {
  /** Nothing is left that a person needs to read. */
  readonly shouldSkip: boolean;
  readonly text: string;
  readonly didStrip: boolean;
}

/** `mode: "heartbeat"`, not the default: a short text beside the token counts as an acknowledgement too and is skipped. */
export function stripHeartbeatToken(
  raw?: string,
  opts: { readonly mode?: "heartbeat" | "message"; readonly maxAckChars?: number } = {},
): StrippedText {
  const text = (raw ?? "").trim();
  if (text === "") return { shouldSkip: true, text: "", didStrip: false };
  // Removing markup only adds spaces inside: a token that is not there before is not there afterwards.
  if (!text.includes(HEARTBEAT_TOKEN)) return { shouldSkip: false, text, didStrip: false };
  const plain = withoutMarkup(text);
  const asWritten = stripEdges(text);
  const found = asWritten.didStrip && asWritten.text !== "" ? asWritten : stripEdges(plain);
  if (!found.didStrip) return { shouldSkip: false, text, didStrip: false };
  if (found.text === "") return { shouldSkip: true, text: "", didStrip: true };
  const { mode, maxAckChars = DEFAULT_HEARTBEAT_ACK_MAX_CHARS } = opts;
  if (mode === "heartbeat" && found.text.length <= Math.max(0, maxAckChars)) {
    return { shouldSkip: true, text: "", didStrip: true };
  }
  return { shouldSkip: false, text: found.text, didStrip: true };
}

/** Tags and fixed spaces become spaces; marks of emphasis and code are removed from both ends. */
function withoutMarkup(text: string): string {
  const plain = text.replace(/<[^<>]*>/gu, " ").replace(/&nbsp;/giu, " ");
  let start = 0;
  let end = plain.length;
  while (start < end && MARKUP.test(plain.charAt(start))) start++;
  while (end > start && MARKUP.test(plain.charAt(end - 1))) end--;
  return plain.slice(start, end);
}
const MARKUP = /[*`~_\s]/u;

/** Removes the token from both ends as often as it occurs there. */
function stripEdges(raw: string): { text: string; didStrip: boolean } {
  const whole = raw.trim();
  let text = whole;
  for (;;) {
    if (text.startsWith(HEARTBEAT_TOKEN)) text = text.slice(HEARTBEAT_TOKEN.length).trimStart();
    else if (text.endsWith(HEARTBEAT_TOKEN)) text = text.slice(0, -HEARTBEAT_TOKEN.length).trimEnd();
    else return { text, didStrip: text !== whole };
  }
}
