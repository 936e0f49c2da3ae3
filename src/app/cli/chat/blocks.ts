/** What the chat shows of a history: one block for each thing that was said or done. Blocks are never changed, only replaced. */
import { withoutIds } from "../../../core/message/without-ids.ts";
import { COLLECT_REPORTS_TITLE, COLLECT_TITLE } from "../../../engine/inbox/collect-prompt.ts";
import { type CleanText, clean, cleanLine } from "./clean-text.ts";
import { type Piece, splitText } from "./split-markdown.ts";

interface Keyed {
  /** Unique in the log. */
  readonly key: string;
}

export type Block = Keyed &
  (
    | {
        readonly kind: "user";
        readonly text: CleanText;
        /** The names of the files it came with. */
        readonly files?: readonly CleanText[];
        /** Where the entry is in the tree of the history: to go back before it. */
        readonly entryId?: string;
        readonly parentId?: string | null;
      }
    | { readonly kind: "answer"; readonly pieces: readonly Piece[]; readonly runId?: string; readonly isCut: boolean }
    | { readonly kind: "thinking"; readonly text: CleanText }
    | ToolBlock
    /** A child's report, a reminder, another agent's words: not typed by the person. */
    | { readonly kind: "event"; readonly title: CleanText; readonly text: CleanText }
    /** What an agent said on its own, and the answer to a command. */
    | {
        readonly kind: "notice";
        readonly title?: CleanText;
        readonly pieces: readonly Piece[];
        readonly isError: boolean;
      }
    | { readonly kind: "marker"; readonly text: CleanText }
  );

export interface ToolBlock extends Keyed {
  readonly kind: "tool";
  readonly callId: string;
  readonly name: CleanText;
  readonly input: CleanText;
  readonly output?: CleanText;
  readonly state: "running" | "waiting" | "done" | "failed";
  /** In milliseconds: when it began, and how long it took. */
  readonly at: number;
  readonly took?: number;
}

/** An entry as the API sends it. Fields that are missing or of another type are left out, never believed. */
export interface RawEntry {
  readonly type?: string;
  readonly id?: string;
  readonly parentId?: string | null;
  readonly role?: string;
  readonly content?: unknown;
  readonly timestamp?: unknown;
  readonly runId?: string;
  readonly seqs?: readonly number[];
  readonly stopReason?: string;
  readonly errorMessage?: string;
  readonly toolCallId?: string;
  readonly toolName?: string;
  readonly isError?: boolean;
  readonly hidden?: boolean;
  readonly summary?: string;
}

/** Tool results are files and pages: the screen shows their beginning. */
const MAX_OUTPUT = 20_000;
const MAX_INPUT = 4_000;

/** The blocks of an entry that add to the log. A tool's result does not: `withResult` puts it into its call. */
export function blocksOf(entry: RawEntry): readonly Block[] {
  const key = entry.id ?? "";
  switch (entry.type) {
    case "message":
      return entry.role === "assistant"
        ? assistantBlocks(entry, key)
        : entry.role === "user"
          ? userBlocks(entry, key)
          : [];
    case "custom_message":
      return entry.hidden ? [] : userBlocks(entry, key);
    case "reset":
      return [{ kind: "marker", key, text: "new session" as CleanText }];
    case "compaction":
      return [{ kind: "marker", key, text: "earlier messages were summarized" as CleanText }];
    case "branch_summary":
      return [{ kind: "marker", key, text: "went back to an earlier message" as CleanText }];
    default:
      return [];
  }
}

function assistantBlocks(entry: RawEntry, key: string): readonly Block[] {
  const at = timeOf(entry);
  const blocks: Block[] = [];
  const isCut = entry.stopReason === "aborted";
  for (const [n, block] of contentOf(entry).entries()) {
    const id = `${key}/${n}`;
    if (block.type === "thinking" && block.thinking?.trim()) {
      blocks.push({ kind: "thinking", key: id, text: clean(block.thinking) });
    } else if (block.type === "text" && block.text?.trim()) {
      const { runId } = entry;
      blocks.push({ kind: "answer", key: id, pieces: splitText(clean(block.text)), runId, isCut });
    } else if (block.type === "toolCall") {
      blocks.push({
        ...{ kind: "tool", key: id, callId: String(block.id), name: cleanLine(String(block.name), 60), at },
        ...{ input: inputText(block.arguments), state: "running" },
      });
    }
  }
  return blocks;
}

/** The arguments of a call as short as they can be read: `path: notes.txt`, in lines if they are long. */
function inputText(args: unknown): CleanText {
  if (typeof args !== "object" || args === null) return "" as CleanText;
  const parts = Object.entries(args).map(([name, value]) => {
    const text = typeof value === "string" ? value : JSON.stringify(value);
    return `${name}: ${text ?? ""}`;
  });
  return clean(parts.join("\n").slice(0, MAX_INPUT));
}

/** Puts a result into the last call with its id. Returns the same array if there is none. */
export function withResult(blocks: readonly Block[], entry: RawEntry): readonly Block[] {
  const index = blocks.findLastIndex((block) => block.kind === "tool" && block.callId === entry.toolCallId);
  const block = blocks[index];
  if (block?.kind !== "tool") return blocks;
  const text = contentOf(entry)
    .map((part) => part.text ?? "")
    .join("\n");
  const output = clean(text.slice(0, MAX_OUTPUT));
  const took = block.took ?? Math.max(0, timeOf(entry) - block.at);
  return blocks.with(index, { ...block, output, took, state: entry.isError ? "failed" : "done" });
}

const SYSTEM = /^<system_message\b([^>]{0,200})>/u;
const END = "</system_message>";
const QUEUED = /^---\nQueued #\d{1,6}\n/u;

function userBlocks(entry: RawEntry, key: string): readonly Block[] {
  const { id: entryId, parentId } = entry;
  const text = contentOf(entry)
    .map((block) => (block.type === "image" ? "[image]" : (block.text ?? "")))
    .join("\n");
  return partsOf(text).map((part, n): Block => {
    const id = `${key}/${n}`;
    const system = SYSTEM.exec(part);
    if (!system) return { kind: "user", key: id, ...withoutFiles(part), entryId, parentId };
    const inside = withoutIds(part.slice(system[0].length, part.endsWith(END) ? -END.length : undefined).trim());
    const [first = "", ...rest] = inside.split("\n");
    return { kind: "event", key: id, title: cleanLine(first, 400), text: clean(rest.join("\n").trim()) };
  });
}

const FILE_LINE = "File received: ";
/** It says nothing to a person. */
const FILE_ID = /, id [a-z0-9_]{1,64}(?=\))/u;

/** The engine adds a line for each file of a message. */
function withoutFiles(part: string): { readonly text: CleanText; readonly files?: readonly CleanText[] } {
  const lines = part.split("\n");
  const from = lines.findLastIndex((line) => !line.startsWith(FILE_LINE) && line.trim() !== "") + 1;
  const files = lines.slice(from).filter((line) => line.startsWith(FILE_LINE));
  if (files.length === 0) return { text: clean(part) };
  const text = clean(lines.slice(0, from).join("\n"));
  return { text, files: files.map((line) => cleanLine(line.slice(FILE_LINE.length).replace(FILE_ID, ""), 120)) };
}

/** A prompt of several messages that waited together is shown as those messages. */
function partsOf(text: string): readonly string[] {
  if (!text.startsWith(COLLECT_TITLE) && !text.startsWith(COLLECT_REPORTS_TITLE)) return [text];
  const parts = text.split("\n\n---\nQueued #");
  if (parts.length < 2) return [text];
  return parts.slice(1).map((part) => `---\nQueued #${part}`.replace(QUEUED, "").trim());
}

interface RawBlock {
  readonly type?: string;
  readonly text?: string;
  readonly thinking?: string;
  readonly id?: unknown;
  readonly name?: unknown;
  readonly arguments?: unknown;
}

const contentOf = ({ content }: RawEntry): readonly RawBlock[] =>
  Array.isArray(content) ? (content as readonly RawBlock[]).filter((one) => typeof one === "object" && one) : [];

const timeOf = ({ timestamp }: RawEntry): number => (typeof timestamp === "number" ? timestamp : 0);
