/**
 * A request in the words of the chat completions protocol. What another provider wrote is translated: its thinking
 * becomes text, ids it made that others refuse become legal ones, the same on the call and on its result.
 */
import { createHash } from "node:crypto";
import type { Block, ToolCallBlock } from "../../core/entry.ts";
import type { ModelMessage } from "../../core/model.ts";
import type { ProviderCall } from "../provider-call.ts";
import type { ProviderModel } from "../provider-model.ts";

type Json = Record<string, unknown>;

/** Left free when the answer's limit is fitted into the window: our count of the prompt is an estimate. */
const MARGIN_TOKENS = 1_024;
const LEAST_ANSWER_TOKENS = 256;
const CHARS_PER_TOKEN = 4;

export function payloadOf({ model, request, thinking }: ProviderCall): Json {
  const messages = messagesOf(model, request.system, request.messages);
  const tools = request.tools.map(({ name, description, parameters }) => ({
    type: "function",
    function: { name, description, parameters },
  }));
  return {
    model: model.id,
    messages,
    stream: true,
    stream_options: { include_usage: true },
    max_tokens: answerLimit(model, request.messages, request.system),
    ...(tools.length > 0 ? { tools } : {}),
    ...(thinking !== undefined && thinking !== "off" ? { reasoning_effort: thinking } : {}),
  };
}

function answerLimit(model: ProviderModel, messages: readonly ModelMessage[], system: string): number {
  let chars = system.length;
  for (const { content } of messages) {
    for (const block of content) {
      if (block.type === "text") chars += block.text.length;
      else if (block.type === "toolCall") chars += JSON.stringify(block.arguments).length;
    }
  }
  const free = model.contextWindow - Math.ceil(chars / CHARS_PER_TOKEN) - MARGIN_TOKENS;
  return Math.min(model.maxTokens, Math.max(LEAST_ANSWER_TOKENS, free));
}

function messagesOf(model: ProviderModel, system: string, messages: readonly ModelMessage[]): readonly Json[] {
  const sent: Json[] = system === "" ? [] : [{ role: "system", content: system.toWellFormed() }];
  let pictures: Json[] = [];
  const showPictures = (): void => {
    if (pictures.length > 0) {
      sent.push({ role: "user", content: [{ type: "text", text: "Images of the results above:" }, ...pictures] });
    }
    pictures = [];
  };
  for (const message of messages) {
    if (message.role === "tool") {
      sent.push(resultOf(message));
      // A result is text in this protocol; its images follow the last result in a message of their own.
      if (model.images) pictures.push(...message.content.flatMap(pictureOf));
      continue;
    }
    showPictures();
    if (message.role === "user") sent.push({ role: "user", content: userContent(model, message.content) });
    else sent.push(...assistantOf(model, message));
  }
  showPictures();
  return sent;
}

function userContent(model: ProviderModel, content: readonly Block[]): unknown {
  if (content.every((block) => block.type === "text")) return textOf(content);
  return content.flatMap((block): Json[] => {
    if (block.type === "text") return [{ type: "text", text: block.text.toWellFormed() }];
    if (block.type !== "image") return [];
    return model.images ? pictureOf(block) : [{ type: "text", text: "(an image this model cannot see)" }];
  });
}

const pictureOf = (block: Block): Json[] =>
  block.type === "image"
    ? [{ type: "image_url", image_url: { url: `data:${block.mimeType};base64,${block.data}` } }]
    : [];

function resultOf({ content, toolCallId }: ModelMessage): Json {
  const text = textOf(content);
  const pictures = content.some((block) => block.type === "image");
  return {
    role: "tool",
    tool_call_id: legalId(toolCallId ?? ""),
    content: text === "" ? (pictures ? "(images follow)" : "(nothing)") : text,
  };
}

const THINKING_FIELDS: readonly unknown[] = ["reasoning_content", "reasoning", "reasoning_text"];

function assistantOf(model: ProviderModel, message: ModelMessage): readonly Json[] {
  const brokeOff = message.stopReason === "aborted" || message.stopReason === "error";
  const own = message.provider === model.provider && message.api === model.api && message.model === model.id;
  const sent: Json = { role: "assistant" };
  const texts: string[] = [];
  const calls: ToolCallBlock[] = [];
  for (const block of message.content) {
    if (block.type === "text") texts.push(block.text);
    else if (brokeOff) continue;
    else if (block.type === "toolCall") calls.push(block);
    else if (block.type === "thinking" && block.redacted !== true && block.thinking.trim() !== "") {
      const field = block.thinkingSignature;
      if (own && typeof field === "string" && THINKING_FIELDS.includes(field))
        sent[field] = block.thinking.toWellFormed();
      else if (!own) texts.push(block.thinking);
    }
  }
  const content = texts.join("\n").toWellFormed();
  if (content === "" && calls.length === 0) return [];
  sent.content = content === "" ? null : content;
  if (calls.length > 0) {
    sent.tool_calls = calls.map(({ id, name, arguments: given }) => ({
      id: legalId(id),
      type: "function",
      function: { name, arguments: JSON.stringify(given) },
    }));
  }
  return [sent];
}

const textOf = (content: readonly Block[]): string =>
  content
    .flatMap((block) => (block.type === "text" ? [block.text] : []))
    .join("\n")
    .toWellFormed();

/** Some providers make ids of hundreds of characters that others refuse. */
const legalId = (id: string): string =>
  /^[\w-]{1,64}$/.test(id) ? id : `call_${createHash("sha256").update(id).digest("hex").slice(0, 32)}`;
