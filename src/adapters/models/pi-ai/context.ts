/**
 * A conversation in the library's words. What another provider wrote is translated there (foreign thinking becomes text,
 * call ids are made legal); an answer that broke off is sent as the text it got to.
 */
import type { AssistantMessage, Context, ImageContent, Message, TextContent, Tool, Usage } from "@earendil-works/pi-ai";
import type { Block } from "../../../core/history/entry.ts";
import type { ModelMessage, ModelRequest } from "../../../core/ports/model.ts";

export function piContext({ system, messages, tools }: ModelRequest): Context {
  return {
    ...(system === "" ? {} : { systemPrompt: system }),
    messages: messages.flatMap(piMessage),
    tools: tools.map(({ name, description, parameters }) => ({ name, description, parameters }) as Tool),
  };
}

function piMessage(message: ModelMessage): readonly Message[] {
  const timestamp = message.timestamp ?? 0;
  switch (message.role) {
    case "user":
      return [{ role: "user", content: shown(message.content), timestamp }];
    case "tool":
      return [
        {
          role: "toolResult",
          toolCallId: message.toolCallId ?? "",
          toolName: message.toolName ?? "",
          content: shown(message.content),
          isError: message.isError ?? false,
          timestamp,
        },
      ];
    case "assistant": {
      const content = said(message);
      return content.length === 0 ? [] : [assistant(message, content, timestamp)];
    }
  }
}

const shown = (content: readonly Block[]): (TextContent | ImageContent)[] =>
  content.filter((block) => block.type === "text" || block.type === "image");

function said({ content, stopReason }: ModelMessage): AssistantMessage["content"] {
  const brokeOff = stopReason === "aborted" || stopReason === "error";
  return content.filter(
    (block) => block.type === "text" || (!brokeOff && block.type !== "image"),
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
