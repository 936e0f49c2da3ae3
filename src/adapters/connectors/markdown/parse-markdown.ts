/** Reads Markdown line by line into blocks. Every line becomes part of exactly one block, so nothing is lost. Linear in the text. */
import type { Align, Block, ListItem } from "./markdown-tree.ts";
import { parseInline } from "./parse-inline.ts";

const FENCE = /^ {0,3}(`{3,}|~{3,})[ \t]*([^\s`]{0,40})/u;
const HEADING = /^ {0,3}(#{1,6})[ \t]+(\S.*)$/u;
const RULE = /^ {0,3}(?:-[ \t]*){3,}$|^ {0,3}(?:\*[ \t]*){3,}$|^ {0,3}(?:_[ \t]*){3,}$/u;
const ITEM = /^( {0,24})(?:[-*+]|(\d{1,9})[.)])[ \t]+(\S.*)$/u;
const TASK = /^\[([ xX])\][ \t]+(\S.*)$/u;
const QUOTE = /^ {0,3}> ?/u;
const TABLE_CELL = /^:?-+:?$/u;

export function parseMarkdown(text: string): readonly Block[] {
  const lines = text.replaceAll("\r\n", "\n").split("\n");
  const blocks: Block[] = [];
  let at = 0;
  let gap = false;
  while (at < lines.length) {
    const line = lines[at] ?? "";
    if (line.trim() === "") {
      gap = true;
      at += 1;
      continue;
    }
    const { block, next } = blockAt(lines, at, gap && blocks.length > 0);
    blocks.push(block);
    at = next;
    gap = false;
  }
  return blocks;
}

interface Read {
  readonly block: Block;
  readonly next: number;
}

function blockAt(lines: readonly string[], at: number, gap: boolean): Read {
  const line = lines[at] ?? "";
  const fence = FENCE.exec(line);
  if (fence?.[1]) return codeAt(lines, at, gap, fence[1], fence[2] ?? "");
  const heading = HEADING.exec(line);
  if (heading?.[1] && heading[2]) {
    const content = parseInline(heading[2].trimEnd());
    return { block: { type: "heading", gap, level: heading[1].length, content }, next: at + 1 };
  }
  if (RULE.test(line)) return { block: { type: "rule", gap }, next: at + 1 };
  if (QUOTE.test(line)) return quoteAt(lines, at, gap);
  if (ITEM.test(line)) return listAt(lines, at, gap);
  if (isTableAt(lines, at)) return tableAt(lines, at, gap);
  return paragraphAt(lines, at, gap);
}

function codeAt(lines: readonly string[], at: number, gap: boolean, fence: string, language: string): Read {
  let end = at + 1;
  while (end < lines.length && !isFenceEnd(lines[end] ?? "", fence)) end += 1;
  const text = lines.slice(at + 1, end).join("\n");
  return { block: { type: "code", gap, language, text }, next: Math.min(end + 1, lines.length) };
}

const isFenceEnd = (line: string, fence: string): boolean =>
  line.trim().startsWith(fence) && /^[`~]+$/u.test(line.trim());

function quoteAt(lines: readonly string[], at: number, gap: boolean): Read {
  let end = at;
  while (end < lines.length && QUOTE.test(lines[end] ?? "")) end += 1;
  const content = lines.slice(at, end).map((line) => parseInline(line.replace(QUOTE, "")));
  return { block: { type: "quote", gap, lines: content }, next: end };
}

function listAt(lines: readonly string[], at: number, gap: boolean): Read {
  const items: ListItem[] = [];
  let end = at;
  for (; end < lines.length; end++) {
    const line = lines[end] ?? "";
    const item = ITEM.exec(line);
    if (!item?.[3]) {
      // A line that is indented belongs to the item before it.
      const last = items.at(-1);
      if (!last || !/^[ \t]+\S/u.test(line) || FENCE.test(line)) break;
      items[items.length - 1] = { ...last, content: [...last.content, { type: "text", text: `\n${line.trim()}` }] };
      continue;
    }
    const task = TASK.exec(item[3]);
    items.push({
      content: parseInline(task?.[2] ?? item[3]),
      done: task ? task[1] !== " " : undefined,
      depth: Math.min(8, Math.floor((item[1]?.length ?? 0) / 2)),
      number: item[2] === undefined ? undefined : Number(item[2]),
    });
  }
  return { block: { type: "list", gap, items }, next: end };
}

/** A table begins with a line of cells and one that only draws a line below them. */
const isTableAt = (lines: readonly string[], at: number): boolean => {
  const below = lines[at + 1] ?? "";
  return (
    (lines[at] ?? "").includes("|") && below.includes("|") && cellsOf(below).every((cell) => TABLE_CELL.test(cell))
  );
};

function tableAt(lines: readonly string[], at: number, gap: boolean): Read {
  let end = at + 2;
  while (end < lines.length && (lines[end] ?? "").includes("|")) end += 1;
  const rows = [lines[at] ?? "", ...lines.slice(at + 2, end)].map((line) =>
    cellsOf(line).map((cell) => parseInline(cell)),
  );
  const align = cellsOf(lines[at + 1] ?? "").map(alignOf);
  return { block: { type: "table", gap, align, rows, source: lines.slice(at, end).join("\n") }, next: end };
}

function cellsOf(line: string): readonly string[] {
  const inner = line
    .trim()
    .replace(/^\|/u, "")
    .replace(/(?<!\\)\|$/u, "");
  return inner.split(/(?<!\\)\|/u).map((cell) => cell.trim().replaceAll("\\|", "|"));
}

function alignOf(cell: string): Align | undefined {
  const [left, right] = [cell.startsWith(":"), cell.endsWith(":")];
  if (left && right) return "center";
  return right ? "right" : left ? "left" : undefined;
}

function paragraphAt(lines: readonly string[], at: number, gap: boolean): Read {
  let end = at + 1;
  while (end < lines.length && (lines[end] ?? "").trim() !== "" && !beginsOther(lines, end)) end += 1;
  return { block: { type: "paragraph", gap, content: parseInline(lines.slice(at, end).join("\n")) }, next: end };
}

function beginsOther(lines: readonly string[], at: number): boolean {
  const line = lines[at] ?? "";
  return (
    FENCE.test(line) ||
    HEADING.test(line) ||
    RULE.test(line) ||
    QUOTE.test(line) ||
    ITEM.test(line) ||
    isTableAt(lines, at)
  );
}
