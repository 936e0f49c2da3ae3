/** One call of the simulated model: the request as the auditor needs it, and its result. */
import type { Spend } from "../../../src/core/budget/budget.ts";
import type { ToolCallBlock } from "../../../src/core/history/entry.ts";
import type { ModelMessage, ModelRequest } from "../../../src/core/ports/model.ts";
import { childMarksIn, tokensIn } from "./tokens.ts";

const BYTES_PER_TOKEN = 4;

export interface ModelCall {
  readonly n: number;
  readonly process: string;
  readonly startedAt: number;
  endedAt: number | undefined;
  /** Every token in the user messages of the request, in order. */
  readonly tokens: readonly string[];
  /** The marks of earlier answers and calls in the request. */
  readonly context: ReadonlySet<string>;
  /** The tokens that are not answered yet. */
  readonly fresh: readonly string[];
  /** The mark of the answer, if the call returned one. */
  answer: string | undefined;
  silent: boolean;
  readonly asked: string[];
  error: string | undefined;
  readonly sessionId: string;
  /** The whole request as bytes: the instructions, then each message (L11). */
  readonly bytes: readonly string[];
  /** Why a provider would refuse this request, or undefined. */
  readonly unlawful: string | undefined;
  /** The size of the prompt, in tokens. */
  readonly prompt: number;
  /** How many tool results the model got since its last answer. */
  readonly results: number;
  /** What this call costs its caller, also if its answer was lost. */
  charged: Spend;
}

export function newCall(n: number, process: string, startedAt: number, request: ModelRequest): ModelCall {
  const { messages, system, tools, sessionId } = request;
  const open = messages.slice(sinceLastAnswer(messages));
  const ofRole = (from: readonly ModelMessage[], wanted: ModelMessage["role"]) =>
    from.filter(({ role }) => role === wanted);
  const lines = messages.map((message) => JSON.stringify(message));
  return {
    n,
    process,
    startedAt,
    endedAt: undefined,
    tokens: ofRole(messages, "user").flatMap((message) => tokensIn(textOf(message), "t")),
    context: new Set(ofRole(messages, "assistant").flatMap(marksOf)),
    fresh: ofRole(open, "user")
      .map(textOf)
      .flatMap((text) => [...tokensIn(text, "t"), ...childMarksIn(text)]),
    answer: undefined,
    silent: false,
    asked: [],
    error: undefined,
    sessionId,
    bytes: [system, ...lines],
    unlawful: unlawful(messages),
    results: ofRole(open, "tool").length,
    prompt: tokensOf(`[${JSON.stringify(system)},[${lines.join(",")}],${JSON.stringify(tools)}]`),
    charged: { tokens: 0, micros: 0 },
  };
}

export const textOf = (message: ModelMessage): string =>
  message.content.map((block) => (block.type === "text" ? block.text : "")).join("");
export const callsOf = (message: ModelMessage): readonly ToolCallBlock[] =>
  message.content.filter((block): block is ToolCallBlock => block.type === "toolCall");

/** The marks that identify an assistant message: the mark of its answer, and the ids of its calls. */
export const marksOf = (message: ModelMessage): readonly string[] => [
  ...tokensIn(textOf(message), "r"),
  ...callsOf(message).map(({ id }) => idOfProvider(id)),
];

/** An id that the model had used before is stored with a suffix. */
export const idOfProvider = (id: string): string => /^call_\d+_\d+(?=-)/u.exec(id)?.[0] ?? id;

export const tokensOf = (text: string): number => Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN);

/** The index of the first message without a finished answer after it. */
export function sinceLastAnswer(messages: readonly ModelMessage[]): number {
  const last = messages.findLastIndex((message) => message.role === "assistant" && callsOf(message).length === 0);
  return last + 1;
}

/** The checks of a strict provider: ids are unique, each call is followed by one result, the last message is not the assistant's. */
function unlawful(messages: readonly ModelMessage[]): string | undefined {
  let open = new Set<string>();
  const ids = new Set<string>();
  for (const message of messages) {
    for (const { id } of callsOf(message)) {
      if (ids.has(id)) return `two calls with the id ${id}`;
      ids.add(id);
    }
    if (message.role === "tool") {
      if (!open.delete(message.toolCallId ?? "")) return `a result for ${message.toolCallId} that no call asked for`;
      continue;
    }
    if (open.size > 0) return `no result for ${[...open].join(", ")}`;
    if (message.role === "assistant") open = new Set(callsOf(message).map(({ id }) => id));
  }
  if (open.size > 0) return `no result for ${[...open].join(", ")}`;
  const last = messages.at(-1);
  return last === undefined || last.role === "assistant" ? "the last word is the assistant's own" : undefined;
}
