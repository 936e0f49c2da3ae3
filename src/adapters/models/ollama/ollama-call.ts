/** Calls Ollama through its own API: lines of JSON, and a window that is as large as the model's. */
import { randomUUID } from "node:crypto";
import { defined } from "../../../core/defined.ts";
import { TooLargeError } from "../../../core/errors.ts";
import { type Block, type Usage, unknownCounts } from "../../../core/history/entry.ts";
import type { ModelEvent } from "../../../core/ports/model.ts";
import { argumentsIn } from "../call-arguments.ts";
import { BrokenAnswer } from "../openai-completions/collect-answer.ts";
import type { ProviderApi } from "../provider-call.ts";
import { parse } from "../provider-error.ts";
import { type Answer, type ReportedFailure, runProviderCall } from "../run-provider-call.ts";
import { ollamaPayload } from "./ollama-payload.ts";
import { serverOf } from "./ollama-show.ts";

const MAX_LINE = 500_000;
const MAX_CALLS = 1_000;

interface Line {
  readonly message?: {
    readonly content?: unknown;
    readonly thinking?: unknown;
    readonly tool_calls?: readonly { readonly function?: { readonly name?: unknown; readonly arguments?: unknown } }[];
  };
  readonly done?: boolean;
  readonly done_reason?: string;
  readonly prompt_eval_count?: number;
  readonly eval_count?: number;
  readonly error?: unknown;
}

export const callOllama: ProviderApi = (deps, call) =>
  runProviderCall(deps, call, async ({ exchange, signal, draft, forward }): Promise<ReportedFailure | undefined> => {
    const answer = await exchange.post(
      `${serverOf(call.model.baseUrl)}/api/chat`,
      defined({
        "content-type": "application/json",
        authorization: call.key === undefined ? undefined : `Bearer ${call.key}`,
      }),
      ollamaPayload(call),
      signal,
    );
    if (!answer) return {};
    const collector = new OllamaAnswer(forward);
    draft.read = () => collector.answer();
    const lines = lineReader((line) => collector.take(line));
    try {
      await answer.read((chunk) => {
        exchange.received();
        lines.take(chunk);
      });
      lines.end();
    } catch (error) {
      if (!(error instanceof TooLargeError)) throw error;
      collector.cutOff();
      return undefined;
    }
    return collector.finish();
  });

/** Splits a stream into lines. Throws `TooLargeError` at a line that is too long. */
function lineReader(onLine: (line: string) => void): { take(chunk: Uint8Array): void; end(): void } {
  const decoder = new TextDecoder();
  let pieces: string[] = [];
  let length = 0;
  const flush = (): void => {
    const line = pieces.join("").trim();
    pieces = [];
    length = 0;
    if (line !== "") onLine(line);
  };
  const add = (text: string): void => {
    const parts = text.split("\n");
    parts.forEach((part, index) => {
      if (index > 0) flush();
      length += part.length;
      if (length > MAX_LINE) throw new TooLargeError("A line of the answer is too long.");
      pieces.push(part);
    });
  };
  return {
    take: (chunk) => add(decoder.decode(chunk, { stream: true })),
    end() {
      add(decoder.decode());
      flush();
    },
  };
}

class OllamaAnswer {
  readonly #onEvent: (event: ModelEvent) => void;
  readonly #calls: Block[] = [];
  #text = "";
  #thinking = "";
  #end: Line | undefined;
  #error: string | undefined;
  #cut = false;

  constructor(onEvent: (event: ModelEvent) => void) {
    this.#onEvent = onEvent;
  }

  take(text: string): void {
    const line = parse(text) as Line | undefined;
    if (typeof line !== "object" || line === null) throw new BrokenAnswer("A line of the answer is not JSON.");
    if (line.error !== undefined) this.#error = String(line.error);
    const { content, thinking, tool_calls: calls = [] } = line.message ?? {};
    if (typeof thinking === "string" && thinking !== "") {
      this.#thinking += thinking;
      this.#onEvent({ type: "thinking", delta: thinking });
    }
    if (typeof content === "string" && content !== "") {
      this.#text += content;
      this.#onEvent({ type: "text", delta: content });
    }
    for (const { function: called } of calls ?? []) this.#call(called?.name, called?.arguments);
    if (line.done) this.#end = line;
  }

  #call(name: unknown, given: unknown): void {
    if (this.#calls.length >= MAX_CALLS) throw new TooLargeError(`The answer has more than ${MAX_CALLS} tool calls.`);
    const args = argumentsIn(typeof given === "string" ? given : JSON.stringify(given ?? {}));
    const call = { type: "toolCall", id: `call_${randomUUID()}`, name: String(name ?? "") } as const;
    this.#calls.push({ ...call, arguments: args ?? {}, malformed: args ? undefined : true });
    this.#onEvent({ type: "toolCall", id: call.id, name: call.name });
  }

  cutOff(): void {
    this.#cut = true;
  }

  finish(): ReportedFailure | undefined {
    if (this.#error !== undefined) return { error: { text: this.#error } };
    if (!this.#end) throw new BrokenAnswer("The stream ended before the answer did.");
    return undefined;
  }

  answer(): Answer {
    const content: Block[] = [
      ...(this.#thinking === "" ? [] : [{ type: "thinking", thinking: this.#thinking } as const]),
      ...(this.#text === "" ? [] : [{ type: "text", text: this.#text } as const]),
      ...this.#calls,
    ];
    const isLong = this.#cut || this.#end?.done_reason === "length";
    const stopReason = isLong ? "length" : this.#calls.length > 0 ? "tool_calls" : "stop";
    return { content, stopReason, usage: this.#usage(), cut: this.#cut || undefined };
  }

  /** A server on this machine costs nothing. */
  #usage(): Usage | undefined {
    const { prompt_eval_count: input, eval_count: output } = this.#end ?? {};
    if (input === undefined && output === undefined) return undefined;
    const [read, written] = [input ?? 0, output ?? 0];
    const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };
    const unknown = unknownCounts(input, output);
    return { input: read, output: written, cacheRead: 0, cacheWrite: 0, totalTokens: read + written, cost, unknown };
  }
}
