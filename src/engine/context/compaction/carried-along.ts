/**
 * What the program itself carries from one compaction to the next, without relying on a model: the files that were read and
 * changed, and identifiers word for word.
 */
import type { Block } from "../../../core/history/entry.ts";
import type { ModelMessage } from "../../../core/ports/model.ts";
import type { CompactionDetails } from "./compaction-details.ts";

interface Carried {
  readonly readFiles: readonly string[];
  readonly modifiedFiles: readonly string[];
  /** Marked with backticks in the conversation. */
  readonly identifiers: readonly string[];
  /** Known by their form. */
  readonly references: readonly string[];
}

const MAX_FILES = 200;
/** The limits in number and in characters; the oldest are dropped first. */
const MARKED_LIMIT = { count: 200, chars: 6_000 };
const SHAPED_LIMIT = { count: 60, chars: 3_000 };
const MAX_LENGTH = 160;

/** What the covered messages add to what was carried before. */
export function carriedAlong(messages: readonly ModelMessage[], before: CompactionDetails = {}): Carried {
  const read = new Set(before.readFiles);
  const modified = new Set(before.modifiedFiles);
  for (const block of messages.flatMap(({ content }) => content)) {
    if (block.type !== "toolCall" || typeof block.arguments.path !== "string") continue;
    if (block.name === "read") read.add(block.arguments.path);
    if (block.name === "write" || block.name === "edit") modified.add(block.arguments.path);
  }
  const texts = messages.flatMap(({ role, content }) => (role === "tool" ? [] : content.flatMap(textIn)));
  const identifiers = newest([...(before.identifiers ?? []), ...texts.flatMap(marked)], MARKED_LIMIT);
  const references = [...(before.references ?? []), ...texts.flatMap((text) => text.match(SHAPED) ?? [])];
  return {
    readFiles: [...read]
      .filter((path) => !modified.has(path))
      .sort()
      .slice(0, MAX_FILES),
    modifiedFiles: [...modified].sort().slice(0, MAX_FILES),
    identifiers,
    references: newest(references, SHAPED_LIMIT).filter((text) => !identifiers.includes(text)),
  };
}

const textIn = (block: Block): readonly string[] => (block.type === "text" ? [block.text] : []);

/** Text in backticks. */
const marked = (text: string): readonly string[] => [...text.matchAll(/`([^`\n]+)`/gu)].map(([, one = ""]) => one);

/**
 * URLs, mail addresses, uuids, tickets and hashes: a summary that changes one letter makes them useless. Linear (L14):
 * each alternative starts at a boundary, so a long run of letters is read once and not from each of its letters, and the
 * parts of a mail address have the lengths that mail allows.
 */
const SHAPED =
  /https?:\/\/[^\s<>"'`)\]]+|(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}\.[\w.-]{1,190}|\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b|\b[A-Z][A-Z0-9]{1,31}-\d{1,32}\b|\b(?=[0-9a-f]{0,39}\d)(?=[0-9a-f]{0,39}[a-f])[0-9a-f]{7,40}\b/gu;

/** Each once, at its last place; the newest that fit. */
function newest(texts: readonly string[], limit: { count: number; chars: number }): readonly string[] {
  const kept: string[] = [];
  const seen = new Set<string>();
  let chars = 0;
  for (const text of texts.map((one) => one.trim()).reverse()) {
    if (text === "" || text.length > MAX_LENGTH || /[<>]/u.test(text) || seen.has(text)) continue;
    seen.add(text);
    chars += text.length + 1;
    if (kept.length >= limit.count || chars > limit.chars) break;
    kept.push(text);
  }
  return kept.reverse();
}

/** As blocks behind a summary; identifiers that the summary contains are not repeated. */
export function carriedText(summary: string, carried: Carried): string {
  const { readFiles, modifiedFiles, identifiers, references } = carried;
  const missing = [...identifiers, ...references].filter((text) => !summary.includes(text));
  return [block("read-files", readFiles), block("modified-files", modifiedFiles), block("identifiers", missing)].join(
    "",
  );
}

const block = (tag: string, lines: readonly string[]): string =>
  lines.length === 0 ? "" : `\n\n<${tag}>\n${lines.join("\n")}\n</${tag}>`;

const OPENING = /\n\n<(read-files|modified-files|identifiers|original-request)>\n/gu;

/** The summary a model wrote, without the blocks that the program put behind it. Linear (L14): no search is repeated. */
export function withoutCarried(summary: string): string {
  const unclosed = new Set<string>();
  let text = "";
  let from = 0;
  for (const opening of summary.matchAll(OPENING)) {
    const [start, tag = ""] = opening;
    if (opening.index < from || unclosed.has(tag)) continue;
    const closing = `\n</${tag}>`;
    const end = summary.indexOf(closing, opening.index + start.length - 1);
    if (end === -1) {
      unclosed.add(tag);
      continue;
    }
    text += summary.slice(from, opening.index);
    from = end + closing.length;
  }
  return text + summary.slice(from);
}
