/** A request in the form that AI SDK models take. The versions differ in how they write images. */
import { defined } from "../../../core/defined.ts";
import { documentOf } from "../../../core/history/document-block.ts";
import type { Block } from "../../../core/history/entry.ts";
import type { ModelMessage, ModelRequest, ModelTool } from "../../../core/ports/model.ts";
import type { Version } from "./language-model.ts";

type Json = Record<string, unknown>;

export interface Receiver {
  readonly version: Version;
  readonly api: string;
  readonly provider: string;
  readonly id: string;
  /** Whether it takes PDFs. */
  readonly documents?: boolean;
}

/** Anthropic caches a prompt up to a part that says so. Other providers do not read it. */
const CACHED = { anthropic: { cacheControl: { type: "ephemeral" } } };

export function callOptions(request: ModelRequest, receiver: Receiver, abortSignal: AbortSignal): Json {
  const { system, tools, maxTokens, thinking } = request;
  const prompt: Json[] = system === "" ? [] : [{ role: "system", content: system, providerOptions: CACHED }];
  prompt.push(...messagesOf(request.messages, receiver));
  const last = prompt.at(-1);
  if (last) last.providerOptions = CACHED;
  return defined({
    prompt,
    abortSignal,
    maxOutputTokens: maxTokens,
    tools: tools.length > 0 ? tools.map(toolOf) : undefined,
    toolChoice: tools.length > 0 ? { type: "auto" } : undefined,
    // Older versions have no common word for it.
    reasoning: receiver.version === "v4" && thinking !== undefined ? (REASONING[thinking] ?? thinking) : undefined,
  });
}

const REASONING: Readonly<Record<string, string>> = { off: "none" };

const toolOf = ({ name, description, parameters }: ModelTool): Json => ({
  type: "function",
  name,
  description,
  inputSchema: parameters,
});

/** The results of one answer go into one message. */
function messagesOf(messages: readonly ModelMessage[], receiver: Receiver): Json[] {
  const sent: Json[] = [];
  let results: Json[] | undefined;
  for (const message of messages) {
    if (message.role === "tool") {
      if (!results) {
        results = [];
        sent.push({ role: "tool", content: results });
      }
      results.push(resultOf(message, receiver.version));
      continue;
    }
    results = undefined;
    const content =
      message.role === "user"
        ? message.content.flatMap((block) => userPart(block, receiver))
        : assistantParts(message, receiver);
    if (content.length > 0) sent.push({ role: message.role, content });
  }
  return sent;
}

function userPart(block: Block, { version, documents }: Receiver): Json[] {
  const document = documents ? documentOf(block) : undefined;
  if (document) {
    const { line, mimeType: mediaType, name: filename, data } = document;
    const file = { type: "file", mediaType, filename, data: version === "v4" ? { type: "data", data } : data };
    return [{ type: "text", text: line }, file];
  }
  if (block.type === "text") return [{ type: "text", text: block.text }];
  if (block.type !== "image") return [];
  const { data, mimeType: mediaType } = block;
  return [{ type: "file", mediaType, data: version === "v4" ? { type: "data", data } : data }];
}

/** Thoughts and metadata go back only to the model that wrote them. An interrupted answer is sent as its text. */
function assistantParts({ content, stopReason, api, provider, model }: ModelMessage, receiver: Receiver): Json[] {
  const isWhole = stopReason !== "aborted" && stopReason !== "error";
  const isOwn = api === receiver.api && provider === receiver.provider && model === receiver.id;
  return content.flatMap((block): Json[] => {
    const providerOptions = isOwn ? block.providerMetadata : undefined;
    switch (block.type) {
      case "text":
        return block.text === "" ? [] : [defined({ type: "text", text: block.text, providerOptions })];
      case "thinking":
        return isOwn && isWhole ? [defined({ type: "reasoning", text: block.thinking, providerOptions })] : [];
      case "toolCall": {
        const call = { toolCallId: block.id, toolName: block.name, input: block.arguments };
        return isWhole ? [defined({ type: "tool-call", ...call, providerOptions })] : [];
      }
      default:
        return [];
    }
  });
}

function resultOf({ content, toolCallId = "", toolName = "", isError = false }: ModelMessage, version: Version): Json {
  const hasImages = content.some(({ type }) => type === "image");
  const output =
    hasImages && !isError
      ? { type: "content", value: content.flatMap((block) => resultPart(block, version)) }
      : { type: isError ? "error-text" : "text", value: textOf(content) };
  return { type: "tool-result", toolCallId, toolName, output };
}

function resultPart(block: Block, version: Version): Json[] {
  if (block.type === "text") return [{ type: "text", text: block.text }];
  if (block.type !== "image") return [];
  const { data, mimeType: mediaType } = block;
  switch (version) {
    case "v2":
      return [{ type: "media", data, mediaType }];
    case "v3":
      return [{ type: "image-data", data, mediaType }];
    case "v4":
      return [{ type: "file", data: { type: "data", data }, mediaType }];
  }
}

const textOf = (content: readonly Block[]): string =>
  content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
