/** Reads emphasis, code and links of one paragraph. Each sign without its partner is plain text. Linear in the text. */
import type { Inline } from "./markdown-tree.ts";

const MAX_DEPTH = 8;

/** The longer sign comes first: `**` is not two `*`. */
const SIGNS: readonly { readonly sign: string; readonly type: "bold" | "italic" | "strike" | "spoiler" }[] = [
  { sign: "**", type: "bold" },
  { sign: "__", type: "bold" },
  { sign: "~~", type: "strike" },
  { sign: "||", type: "spoiler" },
  { sign: "*", type: "italic" },
  { sign: "_", type: "italic" },
];

const FIRST = /[*_~|`[\\]/gu;
const WORD = /[\p{L}\p{N}]/u;

export function parseInline(text: string, depth = 0): readonly Inline[] {
  const parts: Inline[] = [];
  let plain = "";
  let at = 0;
  /** Signs that have no partner in the rest of the text. */
  const alone = new Set<string>();
  const flush = (): void => {
    if (plain !== "") parts.push({ type: "text", text: plain });
    plain = "";
  };
  while (at < text.length) {
    FIRST.lastIndex = at;
    const found = FIRST.exec(text);
    if (!found) break;
    plain += text.slice(at, found.index);
    at = found.index;
    const read = depth < MAX_DEPTH ? readAt(text, at, alone, depth) : undefined;
    if (read === undefined) {
      plain += text[at];
      at += 1;
      continue;
    }
    if (typeof read.inline === "string") plain += read.inline;
    else {
      flush();
      parts.push(read.inline);
    }
    at = read.end;
  }
  plain += text.slice(at);
  flush();
  return parts;
}

interface Read {
  readonly inline: Inline | string;
  readonly end: number;
}

function readAt(text: string, at: number, alone: Set<string>, depth: number): Read | undefined {
  const sign = text[at];
  if (sign === "\\") {
    const next = text[at + 1] ?? "";
    return /[!-/:-@[-`{-~]/u.test(next) ? { inline: next, end: at + 2 } : undefined;
  }
  if (sign === "`") return readCode(text, at, alone);
  if (sign === "[") return readLink(text, at, alone, depth);
  return readEmphasis(text, at, alone, depth);
}

function readCode(text: string, at: number, alone: Set<string>): Read | undefined {
  let fence = "`";
  while (text[at + fence.length] === "`" && fence.length < 3) fence += "`";
  if (alone.has(fence)) return undefined;
  const end = text.indexOf(fence, at + fence.length);
  if (end === -1) {
    alone.add(fence);
    return undefined;
  }
  const code = text.slice(at + fence.length, end);
  return code === "" ? undefined : { inline: { type: "code", text: code }, end: end + fence.length };
}

const MAX_LABEL = 1_000;
const MAX_HREF = 2_000;

function readLink(text: string, at: number, alone: Set<string>, depth: number): Read | undefined {
  if (alone.has("](")) return undefined;
  const middle = text.indexOf("](", at);
  if (middle === -1) {
    alone.add("](");
    return undefined;
  }
  if (middle - at > MAX_LABEL) return undefined;
  const end = text.slice(middle + 2, middle + 2 + MAX_HREF).indexOf(")");
  const href = end === -1 ? "" : text.slice(middle + 2, middle + 2 + end).trim();
  if (!/^(?:https?|tg|mailto|tel):\S+$/iu.test(href)) return undefined;
  const children = parseInline(text.slice(at + 1, middle), depth + 1);
  return { inline: { type: "link", href, children }, end: middle + 3 + end };
}

function readEmphasis(text: string, at: number, alone: Set<string>, depth: number): Read | undefined {
  const found = SIGNS.find(({ sign }) => text.startsWith(sign, at));
  if (!found || alone.has(found.sign)) return undefined;
  const { sign, type } = found;
  const start = at + sign.length;
  // A sign before a blank opens nothing; `_` inside a word is part of it.
  if (/^\s?$/u.test(text[start] ?? "") || (sign.startsWith("_") && isWord(text, at - 1))) return undefined;
  const end = closing(text, start, sign, alone);
  if (end === undefined) return undefined;
  return { inline: { type, children: parseInline(text.slice(start, end), depth + 1) }, end: end + sign.length };
}

const isWord = (text: string, at: number): boolean => at >= 0 && WORD.test(text[at] ?? "");

/** How many partners are looked at before a sign counts as plain text. */
const MAX_TRIES = 8;

function closing(text: string, from: number, sign: string, alone: Set<string>): number | undefined {
  let end = text.indexOf(sign, from + 1);
  if (end === -1) alone.add(sign);
  for (let tries = 0; end !== -1 && tries < MAX_TRIES; tries++) {
    // A partner after a blank closes nothing; a single `*` is not half of `**`.
    const isDouble = sign.length === 1 && (text[end + 1] === sign || text[end - 1] === sign);
    const isInside = sign.startsWith("_") && isWord(text, end + sign.length);
    if (!/\s/u.test(text[end - 1] ?? "") && !isDouble && !isInside) return end;
    end = text.indexOf(sign, end + (isDouble ? 2 : 1));
  }
  return undefined;
}
