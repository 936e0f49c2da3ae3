/**
 * The request body of the chat completions protocol. Content of another provider is translated: its thinking becomes text,
 * and ids that other providers refuse are replaced, in the call and in its result.
 */
import { createHash } from "node:crypto";
import type { Block, ToolCallBlock } from "../../../core/history/entry.ts";
import type { ModelMessage, ModelTool } from "../../../core/ports/model.ts";
import type { ProviderCall } from "../provider-call.ts";
import type { ProviderModel } from "../provider-model.ts";

type Json = Record<string, unknown>;

/** Kept free when the answer's limit is computed, because the prompt's size is an estimate. */
const MARGIN_TOKENS = 1_024;
const MIN_ANSWER_TOKENS = 256;
const CHARS_PER_TOKEN = 4;

/**
 * Messages and tools are serialised once and cached by object: each turn sends the whole conversation again, and only its
 * end is new.
 */
export function payloadText({ model, request, thinking }: ProviderCall): string {
  const { system, messages, tools } = request;
  const to = `${model.api} ${model.provider}/${model.id} ${model.images}`;
  const sent = messages.map((message) => writtenFor(model, to, message));
  const chars = sent.reduce((sum, one) => sum + one.chars, system.length);
  const head = JSON.stringify({
    model: model.id,
    stream: true,
    stream_options: { include_usage: true },
    max_tokens: answerLimit(model, chars),
    reasoning_effort: thinking === "off" ? undefined : thinking,
    temperature: request.temperature,
  });
  const toolTexts = tools.length > 0 ? `,"tools":[${tools.map(toolText).join(",")}]` : "";
  return `${head.slice(0, -1)}${toolTexts},"messages":[${messageTexts(system, sent).join(",")}]}`;
}

/** How long the answer may be beside a prompt of so many characters. */
export function answerLimit(model: ProviderModel, chars: number): number {
  const free = model.contextWindow - Math.ceil(chars / CHARS_PER_TOKEN) - MARGIN_TOKENS;
  return Math.min(model.maxTokens, Math.max(MIN_ANSWER_TOKENS, free));
}

/** A serialised message. */
interface Written {
  /** The model it was serialised for: another model may get something else. */
  readonly to: string;
  /** Empty if nothing is sent. */
  readonly text: string;
  /** Its size for the estimate of the answer's limit. */
  readonly chars: number;
  readonly isResult: boolean;
  readonly pictures: readonly Json[];
}

const written = new WeakMap<ModelMessage, Written>();

function writtenFor(model: ProviderModel, to: string, message: ModelMessage): Written {
  const known = written.get(message);
  if (known?.to === to) return known;
  const isResult = message.role === "tool";
  const fresh: Written = {
    to,
    text: sentFor(model, message)
      .map((one) => JSON.stringify(one))
      .join(","),
    chars: charsOf(message),
    isResult,
    pictures: isResult && model.images ? message.content.flatMap(pictureOf) : NONE,
  };
  written.set(message, fresh);
  return fresh;
}

const NONE: readonly Json[] = [];

function sentFor(model: ProviderModel, message: ModelMessage): readonly Json[] {
  if (message.role === "tool") return [resultOf(model, message)];
  if (message.role === "user") return [{ role: "user", content: userContent(model, message.content) }];
  return assistantOf(model, message);
}

function charsOf({ content }: ModelMessage): number {
  let chars = 0;
  for (const block of content) {
    if (block.type === "text") chars += block.text.length;
    else if (block.type === "toolCall") chars += JSON.stringify(block.arguments).length;
  }
  return chars;
}

/** A tool result is text in this protocol. Its images follow the last result in a separate message. */
function messageTexts(system: string, sent: readonly Written[]): readonly string[] {
  const texts: string[] = system === "" ? [] : [JSON.stringify({ role: "system", content: system.toWellFormed() })];
  let pictures: Json[] = [];
  const showPictures = (): void => {
    if (pictures.length === 0) return;
    const content = [{ type: "text", text: "Images of the results above:" }, ...pictures];
    texts.push(JSON.stringify({ role: "user", content }));
    pictures = [];
  };
  for (const one of sent) {
    if (!one.isResult) showPictures();
    if (one.text !== "") texts.push(one.text);
    pictures.push(...one.pictures);
  }
  showPictures();
  return texts;
}

const writtenTools = new WeakMap<ModelTool, string>();

function toolText(tool: ModelTool): string {
  let text = writtenTools.get(tool);
  if (text === undefined) {
    const { name, description, parameters } = tool;
    text = JSON.stringify({ type: "function", function: { name, description, parameters } });
    writtenTools.set(tool, text);
  }
  return text;
}

function userContent(model: ProviderModel, content: readonly Block[]): unknown {
  if (content.every((block) => block.type === "text")) return textOf(content);
  return content.flatMap((block): Json[] => {
    if (block.type === "text") return [{ type: "text", text: block.text.toWellFormed() }];
    if (block.type !== "image") return [];
    return model.images ? pictureOf(block) : [{ type: "text", text: UNSEEN }];
  });
}

const pictureOf = (block: Block): Json[] =>
  block.type === "image"
    ? [{ type: "image_url", image_url: { url: `data:${block.mimeType};base64,${block.data}` } }]
    : [];

const UNSEEN = "(an image this model cannot see)";

function resultOf({ images }: ProviderModel, { content, toolCallId }: ModelMessage): Json {
  const text = textOf(content);
  const pictures = content.some((block) => block.type === "image");
  return {
    role: "tool",
    tool_call_id: validId(toolCallId ?? ""),
    content: text === "" ? (pictures ? (images ? "(images follow)" : UNSEEN) : "(nothing)") : text,
  };
}

const THINKING_FIELDS: readonly unknown[] = ["reasoning_content", "reasoning", "reasoning_text"];

function assistantOf(model: ProviderModel, message: ModelMessage): readonly Json[] {
  const interrupted = message.stopReason === "aborted" || message.stopReason === "error";
  const own = message.provider === model.provider && message.api === model.api && message.model === model.id;
  const sent: Json = { role: "assistant" };
  const texts: string[] = [];
  const calls: ToolCallBlock[] = [];
  for (const block of message.content) {
    if (block.type === "text") texts.push(block.text);
    else if (interrupted) continue;
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
      id: validId(id),
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
const validId = (id: string): string =>
  /^[\w-]{1,64}$/.test(id) ? id : `call_${createHash("sha256").update(id).digest("hex").slice(0, 32)}`;
