/**
 * Markdown as the blocks of a rich message. Built from our own tree: the server's Markdown reads `$400-600K` as a formula. Only
 * texts that gain by it are sent so, because some clients cannot show rich messages.
 */
import type { InputRichBlock, InputRichMessage, RichText } from "grammy/types";
import type { Block, Inline, ListItem } from "../markdown/markdown-tree.ts";
import { parseMarkdown } from "../markdown/parse-markdown.ts";

type RichBlock = InputRichBlock;

/** The server's limits. */
const MAX_BLOCKS = 500;
const MAX_COLUMNS = 20;

/** Undefined if plain HTML shows the text as well, or the server would not take it. */
export function toRichMessage(markdown: string): InputRichMessage | undefined {
  const blocks = parseMarkdown(markdown);
  if (!blocks.some(gains)) return undefined;
  const count = blocks.reduce((sum, block) => sum + sizeOf(block), 0);
  const widest = Math.max(
    0,
    ...blocks.flatMap((block) => (block.type === "table" ? block.rows.map((row) => row.length) : [])),
  );
  if (count > MAX_BLOCKS || widest > MAX_COLUMNS) return undefined;
  return { blocks: blocks.map(richBlock) };
}

const gains = (block: Block): boolean =>
  block.type === "table" || (block.type === "list" && block.items.some(({ done }) => done !== undefined));

const sizeOf = (block: Block): number =>
  block.type === "list"
    ? 1 + 2 * block.items.length
    : block.type === "table"
      ? 1 + block.rows.length
      : block.type === "quote"
        ? 2
        : 1;

function richBlock(block: Block): RichBlock {
  switch (block.type) {
    case "paragraph":
      return { type: "paragraph", text: richText(block.content) };
    case "heading":
      return { type: "heading", size: block.level as 1, text: richText(block.content) };
    case "code":
      return { type: "pre", text: block.text, language: block.language || undefined };
    case "list":
      return { type: "list", items: block.items.map(richItem) };
    case "quote":
      return { type: "blockquote", blocks: [{ type: "paragraph", text: joinedLines(block.lines) }] };
    case "table":
      return {
        type: "table",
        is_bordered: true,
        cells: block.rows.map((row, index) =>
          row.map((cell, column) => ({
            text: richText(cell),
            is_header: index === 0 ? true : undefined,
            align: block.align[column] ?? "left",
            valign: "top",
          })),
        ),
      };
    case "rule":
      return { type: "divider" };
  }
}

/** Nested items keep their depth as an indent: the server's nested lists are limited. */
function richItem({ content, depth, done, number }: ListItem) {
  const text = depth === 0 ? richText(content) : ["  ".repeat(depth), richText(content)];
  return {
    blocks: [{ type: "paragraph", text } as RichBlock],
    has_checkbox: done === undefined ? undefined : (true as const),
    is_checked: done ? (true as const) : undefined,
    value: number,
    type: number === undefined ? undefined : ("1" as const),
  };
}

const joinedLines = (lines: readonly (readonly Inline[])[]): RichText =>
  lines.flatMap((line, index): RichText[] => (index === 0 ? [richText(line)] : ["\n", richText(line)]));

const KINDS = { bold: "bold", italic: "italic", strike: "strikethrough", spoiler: "spoiler" } as const;

function richText(content: readonly Inline[]): RichText {
  const parts = content.map((inline): RichText => {
    switch (inline.type) {
      case "text":
        return inline.text;
      case "code":
        return { type: "code", text: inline.text };
      case "link":
        return { type: "url", text: richText(inline.children), url: inline.href };
      default:
        return { type: KINDS[inline.type], text: richText(inline.children) };
    }
  });
  return parts.length === 1 ? (parts[0] as RichText) : parts;
}
