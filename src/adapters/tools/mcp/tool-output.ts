/** What an MCP server answered, as the result of a call. All of it is untrusted text (M32). */
import type { CallToolResult } from "@modelcontextprotocol/client";
import type { Block } from "../../../core/history/entry.ts";
import type { ToolOutput } from "../../../core/ports/tool.ts";

const MAX_BLOCKS = 50;
const MAX_IMAGE = 5 * 1024 * 1024;
const IMAGES = ["image/png", "image/jpeg", "image/gif", "image/webp"];

type Content = CallToolResult["content"][number];

export function toolOutput(result: CallToolResult, server: string): ToolOutput {
  const blocks = result.content.slice(0, MAX_BLOCKS).map(blockOf);
  const { structuredContent } = result;
  const hasText = blocks.some((block) => block.type === "text" && block.text !== "");
  if (structuredContent !== undefined && !hasText)
    blocks.push({ type: "text", text: JSON.stringify(structuredContent, null, 2) });
  const content: readonly Block[] = blocks.length > 0 ? blocks : [{ type: "text", text: "(no output)" }];
  return { content, isError: result.isError, untrusted: { from: `mcp:${server}` } };
}

export function blockOf(content: Content): Block {
  switch (content.type) {
    case "text":
      return { type: "text", text: content.text.toWellFormed() };
    case "image":
      return IMAGES.includes(content.mimeType) && content.data.length <= MAX_IMAGE
        ? { type: "image", data: content.data, mimeType: content.mimeType }
        : { type: "text", text: `[an image of type ${content.mimeType.slice(0, 100)} that cannot be shown]` };
    case "audio":
      return { type: "text", text: `[audio of type ${content.mimeType.slice(0, 100)} that cannot be shown]` };
    case "resource_link":
      return { type: "text", text: `[resource ${content.uri.slice(0, 500)}: ${content.name.slice(0, 200)}]` };
    case "resource":
      return { type: "text", text: textOfResource(content.resource) };
    default:
      return { type: "text", text: "[content of a kind that cannot be shown]" };
  }
}

export function textOfResource(resource: { uri: string; text?: string; blob?: string; mimeType?: string }): string {
  const { uri, text, mimeType = "unknown type" } = resource;
  return text === undefined
    ? `[${uri.slice(0, 500)}: ${mimeType.slice(0, 100)}, not text]`
    : `[${uri.slice(0, 500)}]\n${text.toWellFormed()}`;
}
