/** Markdown as Telegram's HTML. What a person sees is never longer than the Markdown, so a part of a split text always fits. */
import type { Block, Inline, ListItem } from "../markdown/markdown-tree.ts";
import { parseMarkdown } from "../markdown/parse-markdown.ts";

export const toTelegramHtml = (markdown: string): string => blocksHtml(parseMarkdown(markdown));

export const escapeHtml = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

const attribute = (text: string): string => escapeHtml(text).replaceAll('"', "&quot;");

function blocksHtml(blocks: readonly Block[]): string {
  return blocks.map((block, index) => `${index === 0 ? "" : block.gap ? "\n\n" : "\n"}${blockHtml(block)}`).join("");
}

function blockHtml(block: Block): string {
  switch (block.type) {
    case "paragraph":
      return inlineHtml(block.content);
    case "heading":
      return `<b>${inlineHtml(block.content)}</b>`;
    case "code": {
      const text = escapeHtml(block.text);
      return block.language === ""
        ? `<pre>${text}</pre>`
        : `<pre><code class="language-${attribute(block.language)}">${text}</code></pre>`;
    }
    case "list":
      return block.items.map(itemHtml).join("\n");
    case "quote":
      return `<blockquote>${block.lines.map(inlineHtml).join("\n")}</blockquote>`;
    case "table":
      return `<pre>${escapeHtml(block.source)}</pre>`;
    case "rule":
      return "———";
  }
}

function itemHtml({ content, depth, done, number }: ListItem): string {
  const sign = done === undefined ? (number === undefined ? "•" : `${number}.`) : done ? "☑" : "☐";
  return `${"  ".repeat(depth)}${sign} ${inlineHtml(content)}`;
}

const TAGS = { bold: "b", italic: "i", strike: "s", spoiler: "tg-spoiler" } as const;

function inlineHtml(content: readonly Inline[]): string {
  return content
    .map((inline): string => {
      switch (inline.type) {
        case "text":
          return escapeHtml(inline.text);
        case "code":
          return `<code>${escapeHtml(inline.text)}</code>`;
        case "link":
          return `<a href="${attribute(inline.href)}">${inlineHtml(inline.children)}</a>`;
        default:
          return `<${TAGS[inline.type]}>${inlineHtml(inline.children)}</${TAGS[inline.type]}>`;
      }
    })
    .join("");
}
