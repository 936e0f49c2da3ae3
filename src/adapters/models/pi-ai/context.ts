/**
 * Translates a conversation for the library. The library adapts what another provider wrote (thinking becomes text, call
 * ids are made valid). An interrupted answer is sent as its text.
 */
import type { AssistantMessage, Context, ImageContent, Message, TextContent, Tool, Usage } from "@earendil-works/pi-ai";
import type { Block } from "../../../core/history/entry.ts";
import type { ModelMessage, ModelRequest } from "../../../core/ports/model.ts";
import { userContent } from "./documents.ts";

export function piContext({ system, messages, tools }: ModelRequest): Context {
  return {
    systemPrompt: system || undefined,
    messages: messages.flatMap(piMessage),
    tools: tools.map(({ name, description, parameters }) => ({ name, description, parameters }) as Tool),
  };
}

function piMessage(message: ModelMessage): readonly Message[] {
  const timestamp = message.timestamp ?? 0;
  switch (message.role) {
    case "user":
      return [{ role: "user", content: userContent(message.content), timestamp }];
    case "tool":
      return [
        {
          role: "toolResult",
          toolCallId: message.toolCallId ?? "",
          toolName: message.toolName ?? "",
          content: textAndImages(message.content),
          isError: message.isError ?? false,
          timestamp,
        },
      ];
    case "assistant": {
      const content = sentContent(message);
      return content.length === 0 ? [] : [assistant(message, content, timestamp)];
    }
  }
}

const textAndImages = (content: readonly Block[]): (TextContent | ImageContent)[] =>
  content.filter((block) => block.type === "text" || block.type === "image");

function sentContent({ content, stopReason }: ModelMessage): AssistantMessage["content"] {
  const interrupted = stopReason === "aborted" || stopReason === "error";
  return content.filter(
    (block) => block.type === "text" || (!interrupted && block.type !== "image"),
  ) as AssistantMessage["content"];
}

function assistant(message: ModelMessage, content: AssistantMessage["content"], timestamp: number): AssistantMessage {
  return {
    role: "assistant",
    content,
    api: message.api ?? "",
    provider: message.provider ?? "",
    model: message.model ?? "",
    usage: NO_USAGE,
    stopReason: message.stopReason === "tool_calls" ? "toolUse" : message.stopReason === "length" ? "length" : "stop",
    timestamp,
  };
}

const NO_USAGE: Usage = {
  input: 0,
  output: 0,
  cacheRead: 0,
  cacheWrite: 0,
  totalTokens: 0,
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
};
