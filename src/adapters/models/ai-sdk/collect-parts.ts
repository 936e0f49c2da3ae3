/** Builds an answer from the parts of an AI SDK stream, in their order. */
import { RookeryError } from "../../../core/errors.ts";
import { type Block, type StopReason, type Usage, unknownCounts } from "../../../core/history/entry.ts";
import type { ModelEvent } from "../../../core/ports/model.ts";
import { parse } from "../provider-error.ts";
import type { Answer, ReportedFailure } from "../run-provider-call.ts";
import type { FinishReason, SdkUsage, StreamPart, WithMetadata } from "./language-model.ts";

/** The stream breaks the contract. The message never repeats the data. */
class BrokenStream extends RookeryError {
  readonly code = "broken_answer";
  readonly retryable = true;
}

interface Draft {
  readonly type: "text" | "thinking";
  readonly pieces: string[];
  metadata: unknown;
}

/** Of one answer. The rest of an answer with more is not read. */
const MAX_BLOCKS = 10_000;
/** Characters of what a provider wants back with one part. */
const MAX_METADATA = 100_000;

export class PartCollector {
  readonly #onEvent: (event: ModelEvent) => void;
  readonly #blocks: (Draft | Block)[] = [];
  readonly #open = new Map<string, Draft>();
  /** Calls whose arguments are streamed. */
  readonly #announced = new Set<string>();
  #finish: FinishReason | undefined;
  #usage: Usage | undefined;

  constructor(onEvent: (event: ModelEvent) => void) {
    this.#onEvent = onEvent;
  }

  take(part: StreamPart & WithMetadata): void {
    switch (part.type) {
      case "text-start":
      case "reasoning-start":
      case "text-end":
      case "reasoning-end":
        this.#draft(part.type, part.id, part.providerMetadata);
        break;
      case "text-delta":
      case "reasoning-delta": {
        const draft = this.#draft(part.type, part.id, part.providerMetadata);
        if (part.delta === "") break;
        draft.pieces.push(part.delta);
        this.#onEvent({ type: draft.type, delta: part.delta });
        break;
      }
      case "tool-input-start":
        this.#announced.add(part.id);
        this.#onEvent({ type: "toolCall", id: part.id, name: part.toolName });
        break;
      case "tool-input-delta":
        this.#onEvent({ type: "arguments", delta: part.delta });
        break;
      case "tool-call":
        this.#call(part);
        break;
      case "finish":
        this.#finish = part.finishReason;
        this.#usage = usageOf(part.usage);
        break;
      default:
        break;
    }
  }

  #draft(type: string, id: string, metadata: unknown): Draft {
    const kind = type.startsWith("text") ? "text" : "thinking";
    const key = `${kind} ${id}`;
    let draft = this.#open.get(key);
    if (!draft || type.endsWith("start")) {
      draft = { type: kind, pieces: [], metadata: undefined };
      this.#open.set(key, draft);
      this.#push(draft);
    }
    draft.metadata = metadata ?? draft.metadata;
    return draft;
  }

  /** A call that the provider has executed itself is no call of ours. */
  #call(part: Extract<StreamPart, { type: "tool-call" }> & WithMetadata): void {
    const { toolCallId: id, toolName: name, input, providerExecuted, providerMetadata } = part;
    if (providerExecuted) return;
    if (!this.#announced.has(id)) {
      this.#onEvent({ type: "toolCall", id, name });
      this.#onEvent({ type: "arguments", delta: input });
    }
    const given = argumentsIn(input);
    if (!given) throw new BrokenStream("The arguments of a tool call are not a JSON object.");
    this.#push({ type: "toolCall", id, name, arguments: given, providerMetadata: kept(providerMetadata) });
  }

  #push(block: Draft | Block): void {
    if (this.#blocks.length >= MAX_BLOCKS) throw new BrokenStream(`The answer has more than ${MAX_BLOCKS} parts.`);
    this.#blocks.push(block);
  }

  /** Why there is no answer, or undefined. Throws if the stream ended before the answer did. */
  end(): ReportedFailure | undefined {
    const reason = wordOf(this.#finish);
    if (reason === undefined || reason === "interrupted") {
      throw new BrokenStream("The stream ended before the answer did.");
    }
    if (reason !== "error" && reason !== "content-filter") return undefined;
    const code = (typeof this.#finish === "object" && this.#finish.raw) || reason;
    const error = { code, text: `The answer was stopped (${code}).` };
    return { error, class: reason === "error" ? undefined : "request" };
  }

  answer(): Answer {
    const content = this.#blocks.flatMap((block) => (isDraft(block) ? blockOf(block) : [block]));
    return { content, stopReason: this.#stopReason(content), usage: this.#usage };
  }

  #stopReason(content: readonly Block[]): StopReason {
    const reason = wordOf(this.#finish);
    if (reason === "length") return "length";
    return content.some(({ type }) => type === "toolCall") ? "tool_calls" : "stop";
  }
}

const isDraft = (block: Draft | Block): block is Draft => "pieces" in block;

function blockOf({ type, pieces, metadata }: Draft): Block[] {
  const text = pieces.join("");
  const providerMetadata = kept(metadata);
  if (text === "" && providerMetadata === undefined) return [];
  if (type === "text") return text === "" ? [] : [{ type, text, providerMetadata }];
  return [{ type, thinking: text, providerMetadata }];
}

/** Kept in the history, so it must be JSON and small. */
function kept(metadata: unknown): unknown {
  if (metadata === undefined || metadata === null) return undefined;
  try {
    const text = JSON.stringify(metadata);
    return text === undefined || text === "{}" || text.length > MAX_METADATA ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}

const wordOf = (reason: FinishReason | undefined): string | undefined =>
  typeof reason === "object" ? reason.unified : reason;

function argumentsIn(text: string): Record<string, unknown> | undefined {
  if (text.trim() === "") return {};
  const value = parse(text);
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  return isObject ? (value as Record<string, unknown>) : undefined;
}

function usageOf({ inputTokens, outputTokens, cachedInputTokens = 0 }: SdkUsage): Usage {
  const read = typeof inputTokens === "object" ? (inputTokens.cacheRead ?? 0) : cachedInputTokens;
  const cacheWrite = typeof inputTokens === "object" ? (inputTokens.cacheWrite ?? 0) : 0;
  const total = typeof inputTokens === "object" ? inputTokens.total : inputTokens;
  const noCache = typeof inputTokens === "object" ? inputTokens.noCache : undefined;
  const input = noCache ?? Math.max(0, (total ?? 0) - read - cacheWrite);
  const written = typeof outputTokens === "object" ? outputTokens.total : outputTokens;
  const output = written ?? 0;
  const unknown = unknownCounts(noCache ?? total, written);
  return { input, output, cacheRead: read, cacheWrite, totalTokens: input + output + read + cacheWrite, unknown };
}
