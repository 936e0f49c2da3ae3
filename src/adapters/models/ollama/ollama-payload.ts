/** The request of Ollama's own API. Unlike its OpenAI API it takes the size of the window. */
import type { Block } from "../../../core/history/entry.ts";
import type { ModelMessage } from "../../../core/ports/model.ts";
import { answerLimit } from "../openai-completions/payload.ts";
import type { ProviderCall } from "../provider-call.ts";

type Json = Record<string, unknown>;

export function ollamaPayload({ model, request, thinking }: ProviderCall): string {
  const { system, messages, tools } = request;
  const functions = tools.map(({ name, description, parameters }) => ({
    type: "function",
    function: { name, description, parameters },
  }));
  const sent = [
    ...(system === "" ? [] : [{ role: "system", content: system.toWellFormed() }]),
    ...messages.flatMap((message) => sentOf(message, model.images)),
  ];
  const chars = sent.reduce((sum, { content }) => sum + String(content).length, 0) + JSON.stringify(functions).length;
  return JSON.stringify({
    model: model.id,
    stream: true,
    messages: sent,
    tools: functions.length > 0 && model.tools !== false ? functions : undefined,
    think: thinking === undefined || model.thinking.length < 2 ? undefined : thinkOf(model.id, thinking),
    options: { num_ctx: model.contextWindow, num_predict: answerLimit(model, chars) },
  });
}

/** Only gpt-oss knows levels. */
const thinkOf = (id: string, level: string): boolean | string =>
  level !== "off" && id.startsWith("gpt-oss") ? level : level !== "off";

function sentOf(message: ModelMessage, images: boolean): readonly Json[] {
  const { role, content, toolName } = message;
  const text = textOf(content);
  const pictures = images ? content.flatMap((block) => (block.type === "image" ? [block.data] : [])) : [];
  const shown = pictures.length > 0 ? pictures : undefined;
  if (role === "tool") return [{ role, tool_name: toolName, content: text || "(nothing)", images: shown }];
  if (role === "user") return [{ role, content: text, images: shown }];
  const isInterrupted = message.stopReason === "aborted" || message.stopReason === "error";
  const calls = isInterrupted
    ? []
    : content.flatMap((block): Json[] =>
        block.type === "toolCall" ? [{ function: { name: block.name, arguments: block.arguments } }] : [],
      );
  if (text === "" && calls.length === 0) return [];
  return [{ role, content: text, tool_calls: calls.length > 0 ? calls : undefined }];
}

const textOf = (content: readonly Block[]): string =>
  content
    .flatMap((block) => (block.type === "text" ? [block.text] : []))
    .join("\n")
    .toWellFormed();
