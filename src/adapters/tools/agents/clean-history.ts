/**
 * The messages of a session for another agent: without thinking, image data and silent replies, each cut to a maximum length.
 * Tool calls and results only on request.
 */
import type { Block, Entry } from "../../../core/history/entry.ts";

export interface CleanMessage {
  readonly role: string;
  readonly text: string;
  readonly at?: number;
  /** Of a tool's result. */
  readonly tool?: string;
}

const MAX_MESSAGE_CHARACTERS = 4_000;

export function cleanMessage(entry: Entry, includeTools: boolean): CleanMessage | undefined {
  if (entry.type !== "message" || (entry.role === "tool" && !includeTools)) return undefined;
  const text = cut(
    entry.content
      .flatMap((block) => textOf(block, includeTools))
      .join("\n")
      .trim(),
  );
  if (text === "" || (entry.role === "assistant" && text === "NO_REPLY")) return undefined;
  const { role, timestamp, toolName } = entry;
  return { role, text, at: timestamp, tool: toolName };
}

function textOf(block: Block, includeTools: boolean): string[] {
  switch (block.type) {
    case "text":
      return [block.text];
    case "image":
      return ["<image>"];
    case "toolCall":
      return includeTools ? [`[calls ${block.name} ${JSON.stringify(block.arguments)}]`] : [];
    case "thinking":
      return [];
  }
}

function cut(text: string): string {
  if (text.length <= MAX_MESSAGE_CHARACTERS) return text;
  return `${text.slice(0, MAX_MESSAGE_CHARACTERS).toWellFormed()}… [${text.length} characters]`;
}
