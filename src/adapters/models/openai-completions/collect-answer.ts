/** Builds an answer from the chunks of a chat completions stream. Throws `BrokenAnswer` at a malformed chunk. */
import { randomUUID } from "node:crypto";
import { RookeryError, TooLargeError } from "../../../core/errors.ts";
import { type Block, type StopReason, type Usage, unknownCounts } from "../../../core/history/entry.ts";
import type { ModelEvent } from "../../../core/ports/model.ts";
import { argumentsIn } from "../call-arguments.ts";
import { errorInJson, type ProviderError, parse } from "../provider-error.ts";
import type { Cost } from "../provider-model.ts";
import type { Answer } from "../run-provider-call.ts";

/** The stream breaks the protocol. The message never repeats the data. */
export class BrokenAnswer extends RookeryError {
  readonly code = "broken_answer";
  readonly retryable = true;
}

interface Chunk {
  readonly choices?: readonly Choice[];
  readonly usage?: Counted | null;
  readonly error?: unknown;
}

interface Choice {
  readonly delta?: Delta;
  /** Of a server that does not stream. */
  readonly message?: Delta;
  readonly finish_reason?: string | null;
  readonly usage?: Counted | null;
}

interface Delta {
  readonly content?: string | null;
  readonly reasoning_content?: string | null;
  readonly reasoning?: string | null;
  readonly reasoning_text?: string | null;
  readonly tool_calls?: readonly CallDelta[] | null;
}

interface CallDelta {
  readonly index?: number;
  readonly id?: string | null;
  readonly function?: { readonly name?: string | null; readonly arguments?: string | object | null };
}

interface Counted {
  readonly prompt_tokens?: number;
  readonly completion_tokens?: number;
  readonly prompt_tokens_details?: { readonly cached_tokens?: number } | null;
}

const THINKING_FIELDS = ["reasoning_content", "reasoning", "reasoning_text"] as const;

/** Of one answer. The rest of an answer with more is not read. */
const MAX_CALLS = 1_000;

interface Call {
  id: string;
  name: string;
  text: string;
  announced: boolean;
}

export class AnswerCollector {
  readonly #cost: Cost;
  readonly #onEvent: (event: ModelEvent) => void;
  readonly #calls: Call[] = [];
  readonly #byKey = new Map<number | string, Call>();
  #thinking = "";
  #thinkingField = "";
  #text = "";
  #finish: string | undefined;
  #ended = false;
  #cut = false;
  #usage: Usage | undefined;
  #error: ProviderError | undefined;

  constructor(cost: Cost, onEvent: (event: ModelEvent) => void) {
    this.#cost = cost;
    this.#onEvent = onEvent;
  }

  /** The error that the provider sent instead of an answer, or why it stopped the answer. */
  get error(): ProviderError | undefined {
    if (this.#error || this.#finish === undefined || Object.hasOwn(STOPS, this.#finish)) return this.#error;
    return { code: this.#finish, text: `The answer was stopped (${this.#finish}).` };
  }

  take(data: string): void {
    if (this.#ended || this.#error) return;
    if (data === "[DONE]") {
      this.#ended = true;
      return;
    }
    const chunk = parse(data) as Chunk | undefined;
    if (typeof chunk !== "object" || chunk === null) throw new BrokenAnswer("An event of the answer is not JSON.");
    if (chunk.error) {
      this.#error = errorInJson(chunk);
      return;
    }
    const choice = chunk.choices?.[0];
    const counted = chunk.usage ?? choice?.usage;
    if (counted) this.#usage = usageOf(counted, this.#cost);
    if (!choice) return;
    if (choice.finish_reason) this.#finish = choice.finish_reason;
    const delta = choice.delta ?? choice.message;
    if (delta) this.#add(delta);
  }

  #add(delta: Delta): void {
    const field = THINKING_FIELDS.find((name) => typeof delta[name] === "string" && delta[name] !== "");
    if (field) {
      const thought = delta[field] ?? "";
      this.#thinkingField ||= field;
      this.#thinking += thought;
      this.#onEvent({ type: "thinking", delta: thought });
    }
    if (typeof delta.content === "string" && delta.content !== "") {
      this.#text += delta.content;
      this.#onEvent({ type: "text", delta: delta.content });
    }
    for (const part of delta.tool_calls ?? []) this.#addCall(part);
  }

  #addCall({ index, id, function: called }: CallDelta): void {
    const call = this.#callAt(index, id);
    if (id) {
      call.id = id;
      this.#byKey.set(id, call);
    }
    if (called?.name) call.name = called.name;
    const given = called?.arguments;
    if (given) {
      const delta = typeof given === "string" ? given : JSON.stringify(given);
      call.text += delta;
      this.#onEvent({ type: "arguments", delta });
    }
    if (call.announced || call.name === "") return;
    call.announced = true;
    this.#onEvent({ type: "toolCall", id: call.id, name: call.name });
  }

  /** Servers identify a call by its index or its id, or send each call in one piece. */
  #callAt(index: number | undefined, id: string | null | undefined): Call {
    const key = index ?? (id || undefined);
    const known = key === undefined ? undefined : this.#byKey.get(key);
    if (known) return known;
    if (this.#calls.length >= MAX_CALLS) throw new TooLargeError(`The answer has more than ${MAX_CALLS} tool calls.`);
    const call = { id: id || `call_${randomUUID()}`, name: "", text: "", announced: false };
    this.#calls.push(call);
    this.#byKey.set(key ?? call.id, call);
    return call;
  }

  /** Throws if the stream ended before the answer did. */
  finish(): void {
    if (this.error) return;
    if (this.#finish === undefined && !this.#ended) throw new BrokenAnswer("The stream ended before the answer did.");
  }

  /** The rest of the answer is not read. */
  cutOff(): void {
    this.#cut = true;
    this.#finish = "length";
  }

  answer(): Answer {
    const content: Block[] = [];
    if (this.#thinking !== "") {
      content.push({ type: "thinking", thinking: this.#thinking, thinkingSignature: this.#thinkingField });
    }
    if (this.#text !== "") content.push({ type: "text", text: this.#text });
    for (const { id, name, text } of this.#calls) {
      const given = argumentsIn(text);
      content.push({ type: "toolCall", id, name, arguments: given ?? {}, malformed: given ? undefined : true });
    }
    return { content, stopReason: this.#stopReason(), usage: this.#usage, cut: this.#cut || undefined };
  }

  #stopReason(): StopReason {
    // Some servers say `stop` although they call tools.
    const said = STOPS[this.#finish ?? "stop"] ?? "error";
    return said === "stop" && this.#calls.length > 0 ? "tool_calls" : said;
  }
}

const STOPS: Readonly<Record<string, StopReason>> = {
  stop: "stop",
  end: "stop",
  eos: "stop",
  length: "length",
  tool_calls: "tool_calls",
  function_call: "tool_calls",
};

/** Undefined if the server did not count: some send zeros. */
function usageOf(counted: Counted, price: Cost): Usage | undefined {
  const cacheRead = counted.prompt_tokens_details?.cached_tokens ?? 0;
  const input = Math.max(0, (counted.prompt_tokens ?? 0) - cacheRead);
  const output = counted.completion_tokens ?? 0;
  if (input + output + cacheRead === 0) return undefined;
  const million = 1_000_000;
  const cost = {
    input: (input * price.input) / million,
    output: (output * price.output) / million,
    cacheRead: (cacheRead * price.cacheRead) / million,
    cacheWrite: 0,
  };
  return {
    input,
    output,
    cacheRead,
    cacheWrite: 0,
    totalTokens: input + output + cacheRead,
    cost: { ...cost, total: cost.input + cost.output + cost.cacheRead },
    unknown: unknownCounts(counted.prompt_tokens, counted.completion_tokens),
  };
}
