/**
 * The size of a context: the provider's count of the last turn plus an estimate of what came after it. Before the first count
 * everything is estimated, instructions and tool schemas too.
 */
import type { Block, Entry, Usage } from "../../../core/history/entry.ts";
import { fileOf } from "../../../core/history/file-block.ts";
import type { ModelMessage, ModelTool } from "../../../core/ports/model.ts";
import type { ContextSize } from "../../runtime/context-cache.ts";
import { compactionDetails } from "./compaction-details.ts";

export const CHARS_PER_TOKEN = 4;
/** The cost of an image does not depend on the length of its data: each counts as this many characters. */
export const IMAGE_CHARS = 4_800;
/** Stands for an image in texts. */
export const IMAGE_PLACEHOLDER = "<image>";
const MAX_DEPTH = 6;

const tokensOfChars = (chars: number): number => Math.ceil(chars / CHARS_PER_TOKEN);
export const estimateText = (text: string): number => tokensOfChars(text.length);

const known = new WeakMap<ModelMessage, number>();

/** One message as it is sent. Computed once, because a message does not change. */
function estimateMessage(message: ModelMessage): number {
  const before = known.get(message);
  if (before !== undefined) return before;
  let chars = 0;
  for (const block of message.content) {
    if (block.type === "text") chars += block.text.length + fileChars(block);
    else if (block.type === "thinking") chars += block.thinking.length;
    else if (block.type === "image") chars += IMAGE_CHARS;
    else chars += block.name.length + argumentChars(block.arguments);
  }
  const tokens = tokensOfChars(chars);
  known.set(message, tokens);
  return tokens;
}

/** What a model is shown in the place of a block that stands for a file. */
function fileChars(block: Block): number {
  const file = fileOf(block);
  if (!file) return 0;
  return file.as === "image" ? IMAGE_CHARS : (file.characters ?? 0);
}

/** Arguments may hold an image too: its data is counted as an image's, not as text. */
function argumentChars(value: unknown): number {
  let images = 0;
  const without = (one: unknown, depth: number): unknown => {
    if (depth > MAX_DEPTH || typeof one !== "object" || one === null) return one;
    if (isImage(one)) {
      images += 1;
      return IMAGE_PLACEHOLDER;
    }
    if (Array.isArray(one)) return one.map((item) => without(item, depth + 1));
    return Object.fromEntries(Object.entries(one).map(([key, item]) => [key, without(item, depth + 1)]));
  };
  const text = JSON.stringify(without(value, 0)) ?? "";
  return text.length + images * (IMAGE_CHARS - IMAGE_PLACEHOLDER.length);
}

const isImage = (value: object): boolean =>
  "type" in value && value.type === "image" && "data" in value && typeof value.data === "string";

export const estimateMessages = (messages: readonly ModelMessage[]): number =>
  messages.reduce((sum, message) => sum + estimateMessage(message), 0);

/** The schemas of tools, as they are sent. */
export const estimateTools = (tools: readonly ModelTool[]): number =>
  tools.reduce(
    (sum, { name, description, parameters }) => sum + estimateText(name + description + JSON.stringify(parameters)),
    0,
  );

export const EMPTY_SIZE: ContextSize = { counted: undefined, since: 0, all: 0 };

/** The size with one more entry in the context, which adds these messages. */
export function sizeWith(size: ContextSize, entry: Entry, added: readonly ModelMessage[]): ContextSize {
  const tokens = estimateMessages(added);
  const all = size.all + tokens;
  if (entry.type === "compaction") {
    const { tokensAfter } = compactionDetails(entry);
    return { counted: tokensAfter, since: 0, all };
  }
  if (entry.type === "message" && entry.role === "assistant" && isWhole(entry.stopReason)) {
    const counted = usageTokens(entry.usage);
    if (counted > 0) return { counted, since: 0, all };
  }
  return { ...size, since: size.since + tokens, all };
}

/** An answer that failed or was cut off was not counted to its end. */
const isWhole = (stopReason: string | undefined): boolean => stopReason !== "error" && stopReason !== "aborted";

/** All tokens a provider counted for one call: its total, or the sum of the parts. */
function usageTokens(usage: Usage | undefined): number {
  if (!usage) return 0;
  const { input, output, cacheRead, cacheWrite, totalTokens } = usage;
  return totalTokens > 0 ? totalTokens : input + output + cacheRead + cacheWrite;
}

/** All tokens. `overhead`: instructions and tools, added if no provider has counted them. */
export const tokensIn = ({ counted, since, all }: ContextSize, overhead: number): number =>
  counted === undefined ? all + overhead : counted + since;
