/**
 * A conversation as text for the model that summarises it: without roles that the model could take for its own turn, tool
 * outputs cut, images replaced by a placeholder. Text that is too long for one request is divided.
 */
import type { Block } from "../../../core/history/entry.ts";
import type { ModelMessage } from "../../../core/ports/model.ts";
import { CHARS_PER_TOKEN, IMAGE_PLACEHOLDER } from "./estimate-tokens.ts";
import { cutText } from "./measures.ts";

const TOOL_RESULT_CHARS = 2_000;
/** Beyond so many requests for one summary long texts are cut shorter; beyond twice as many the oldest are left out. */
const MAX_CHUNKS = 12;
const SHORT_CHARS = 500;
const OLDEST_NOTE = "[… the oldest part is left out …]\n\n";

/** One text per message. `chars`: how much of each tool result is shown. */
function serialiseMessages(messages: readonly ModelMessage[], chars = TOOL_RESULT_CHARS): readonly string[] {
  return messages.flatMap((message) => serialised(message, chars));
}

function serialised({ role, content }: ModelMessage, chars: number): readonly string[] {
  const texts = texted(content);
  switch (role) {
    case "user":
      return texts === "" ? [] : [`[User]: ${texts}`];
    case "tool":
      return [`[Tool result]: ${cutText(texts, chars)}`];
    case "assistant":
      return assistant(content, texts);
  }
}

function assistant(content: readonly Block[], texts: string): readonly string[] {
  const thinking = content.flatMap((block) => (block.type === "thinking" ? [block.thinking] : [])).join("\n");
  const calls = content.flatMap((block) => (block.type === "toolCall" ? [callText(block)] : []));
  return [
    ...(thinking.trim() === "" ? [] : [`[Assistant thinking]: ${cutText(thinking, TOOL_RESULT_CHARS)}`]),
    ...(texts.trim() === "" ? [] : [`[Assistant]: ${texts}`]),
    ...(calls.length === 0 ? [] : [`[Assistant tool calls]: ${calls.join("; ")}`]),
  ];
}

const callText = ({ name, arguments: args }: Extract<Block, { type: "toolCall" }>): string => {
  const given = Object.entries(args).map(([key, value]) => `${key}=${JSON.stringify(value) ?? "null"}`);
  return `${name}(${cutText(given.join(", "), TOOL_RESULT_CHARS)})`;
};

const texted = (content: readonly Block[]): string =>
  content
    .flatMap((block) => (block.type === "text" ? [block.text] : block.type === "image" ? [IMAGE_PLACEHOLDER] : []))
    .join("\n");

/** The conversation in portions of at most so many tokens, in order. A note says what is left out. */
export function conversationChunks(messages: readonly ModelMessage[], chunkTokens: number): readonly string[] {
  const room = Math.max(400, chunkTokens * CHARS_PER_TOKEN);
  const whole = divide(serialiseMessages(messages), room);
  if (whole.length <= MAX_CHUNKS) return whole;
  const shorter = serialiseMessages(messages, SHORT_CHARS);
  const each = Math.max(200, Math.floor((MAX_CHUNKS * room * 0.8) / Math.max(1, shorter.length)));
  const cut = divide(
    shorter.map((text) => cutText(text, each)),
    room - OLDEST_NOTE.length,
  );
  const newest = cut.slice(-2 * MAX_CHUNKS);
  return newest.map((chunk, index) => (index === 0 && newest.length < cut.length ? `${OLDEST_NOTE}${chunk}` : chunk));
}

function divide(texts: readonly string[], room: number): readonly string[] {
  const chunks: string[] = [];
  let open = "";
  for (const text of texts.flatMap((one) => pieces(one, room))) {
    if (open !== "" && open.length + text.length + 2 > room) {
      chunks.push(open);
      open = "";
    }
    open = open === "" ? text : `${open}\n\n${text}`;
  }
  return open === "" ? chunks : [...chunks, open];
}

function pieces(text: string, room: number): readonly string[] {
  const parts: string[] = [];
  for (let at = 0; at < text.length; at += room) parts.push(text.slice(at, at + room));
  return parts;
}
