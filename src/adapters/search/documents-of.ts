/** Makes documents from lines of history and from notes: what people and agents said, in parts of bounded length. */

import type { Speaker } from "../../core/search/search-index.ts";
import { wordsOf } from "../../core/search/words.ts";

/** A part of a text that is found and ranked on its own. */
export interface NewDocument {
  readonly text: string;
  readonly at: number;
  readonly speaker: Speaker;
  readonly untrusted: string | undefined;
  /** Of a note: where the part begins. */
  readonly line?: number;
}

const PART = 2_000;
/** Longer texts are indexed up to here: pasted files, not things that were said. */
const MAX_TEXT = 100_000;

interface LineOfMessage {
  readonly type?: unknown;
  readonly role?: unknown;
  readonly content?: unknown;
  readonly timestamp?: unknown;
  readonly untrusted?: { readonly from?: unknown };
}

/** Nothing for lines that no one said: markers, results of tools, hidden messages. Without a schema: threads load none. */
export function documentsOfLine(line: string): readonly NewDocument[] {
  // Most lines of a busy agent are calls and results of tools: they are not parsed.
  if (!line.includes('"type":"message"') || line.includes('"role":"tool"')) return [];
  let value: LineOfMessage;
  try {
    value = JSON.parse(line) as LineOfMessage;
  } catch {
    return [];
  }
  if (value?.type !== "message" || (value.role !== "user" && value.role !== "assistant")) return [];
  const text = textIn(value.content);
  if (text === "" || text === "NO_REPLY") return [];
  const at = typeof value.timestamp === "number" ? value.timestamp : 0;
  const from = value.untrusted?.from;
  const untrusted = typeof from === "string" ? from : undefined;
  const { role } = value;
  return partsOf(text).map((part) => ({ text: part, at, speaker: role, untrusted }));
}

function textIn(content: unknown): string {
  if (!Array.isArray(content)) return "";
  const texts = content.flatMap((block: { readonly type?: unknown; readonly text?: unknown } | null) =>
    block?.type === "text" && typeof block.text === "string" ? [block.text] : [],
  );
  return texts.join("\n").trim().slice(0, MAX_TEXT).toWellFormed();
}

/** At a blank where one is near, so that no word is cut. */
export function partsOf(text: string): readonly string[] {
  const parts: string[] = [];
  for (let from = 0; from < text.length; ) {
    let to = Math.min(text.length, from + PART);
    if (to < text.length) {
      const blank = text.lastIndexOf(" ", to);
      if (blank > from + PART / 2) to = blank;
    }
    parts.push(text.slice(from, to).toWellFormed());
    from = to;
  }
  return parts;
}

/** A note is a paragraph, a list item or a heading with its text: whatever blank lines separate. */
export function documentsOfNote(text: string, at: number, untrusted: string | undefined): readonly NewDocument[] {
  const documents: NewDocument[] = [];
  let heading = "";
  let from = 0;
  let lines: string[] = [];
  const end = () => {
    const body = lines.join("\n").trim();
    if (body !== "" && body !== heading) {
      const whole = heading === "" || body.startsWith(heading) ? body : `${heading}\n${body}`;
      for (const part of partsOf(whole)) documents.push({ text: part, at, speaker: "note", untrusted, line: from + 1 });
    }
    lines = [];
  };
  const all = text.slice(0, MAX_NOTE).toWellFormed().split("\n");
  for (const [index, line] of all.entries()) {
    if (line.trim() === "") {
      end();
      continue;
    }
    if (line.startsWith("#")) {
      end();
      heading = line.slice(0, 200).trim();
    }
    if (lines.length === 0) from = index;
    lines.push(line);
  }
  end();
  return documents.length > 0 || heading === ""
    ? documents
    : [{ text: heading, at, speaker: "note", untrusted, line: 1 }];
}
const MAX_NOTE = 1_000_000;

/** Marks the documents of one conversation, to search in it alone. No text contains it: it is not a letter. */
export const agentWord = (agentId: string): string => `§${agentId}`;

/** What is stored of a document besides its text. */
export const indexedWords = (text: string, agentId?: string): readonly string[] =>
  agentId === undefined ? wordsOf(text) : [...wordsOf(text), agentWord(agentId)];
