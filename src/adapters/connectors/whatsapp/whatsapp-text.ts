/** Markdown as WhatsApp's own markup: *bold*, _italic_, ~struck~, `code`. A link is its text and its address. */
import type { Block, Inline, ListItem } from "../markdown/markdown-tree.ts";
import { parseMarkdown } from "../markdown/parse-markdown.ts";

export const toWhatsappText = (markdown: string): string =>
  parseMarkdown(markdown)
    .map((block, index) => `${index === 0 ? "" : block.gap ? "\n\n" : "\n"}${blockText(block)}`)
    .join("");

function blockText(block: Block): string {
  switch (block.type) {
    case "paragraph":
      return inlineText(block.content);
    case "heading":
      return marked("*", inlineText(block.content));
    case "code":
      return `\`\`\`\n${block.text}\n\`\`\``;
    case "list":
      return block.items.map(itemText).join("\n");
    case "quote":
      return block.lines.map((line) => `> ${inlineText(line)}`).join("\n");
    case "table":
      return `\`\`\`\n${block.source}\n\`\`\``;
    case "rule":
      return "———";
  }
}

function itemText({ content, depth, done, number }: ListItem): string {
  const sign = done === undefined ? (number === undefined ? "•" : `${number}.`) : done ? "☑" : "☐";
  return `${"  ".repeat(depth)}${sign} ${inlineText(content)}`;
}

const SIGNS = { bold: "*", italic: "_", strike: "~", spoiler: "" } as const;

/** A sign counts only next to a word. */
const marked = (sign: string, text: string): string => (text.trim() === "" ? text : `${sign}${text}${sign}`);

function inlineText(content: readonly Inline[]): string {
  return content
    .map((inline): string => {
      switch (inline.type) {
        case "text":
          return inline.text;
        case "code":
          return marked("`", inline.text);
        case "link": {
          const text = inlineText(inline.children);
          return text === inline.href ? text : `${text} (${inline.href})`;
        }
        default:
          return marked(SIGNS[inline.type], inlineText(inline.children));
      }
    })
    .join("");
}
