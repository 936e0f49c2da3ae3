/**
 * The model of the simulated world. It answers the tokens it has not answered yet, asks for the tools their directives
 * name, fails, stalls and overflows as told, and keeps a ledger of every call. It also plays the strict provider: a
 * history no provider would accept is noted.
 */
import type { Block, ToolCallBlock } from "../../src/core/entry.ts";
import type { Model, ModelError, ModelMessage, ModelResult } from "../../src/core/model.ts";
import type { EventLog } from "./event-log.ts";
import type { SimProcess } from "./process.ts";
import type { Random } from "./random.ts";
import type { Scheduler } from "./scheduler.ts";
import { type Directive, directivesIn, tokensIn, tokenText } from "./tokens.ts";

export interface ModelCall {
  readonly n: number;
  readonly process: string;
  readonly startedAt: number;
  endedAt: number | undefined;
  /** Every token in the user messages of the request, in order. */
  readonly tokens: readonly string[];
  /** The marks of earlier answers and calls in the request. */
  readonly context: ReadonlySet<string>;
  /** Those tokens not yet answered. */
  readonly fresh: readonly string[];
  /** The mark of the answer, where the call gave one. */
  answer: string | undefined;
  silent: boolean;
  readonly asked: string[];
  error: string | undefined;
  readonly sessionId: string;
  /** Everything the model is told, as bytes: the instructions, then each message (L11). */
  readonly bytes: readonly string[];
  /** Why a provider would refuse this request, or undefined. */
  readonly unlawful: string | undefined;
  readonly cost: number;
}

export interface ScriptedModel {
  readonly calls: readonly ModelCall[];
  port(process: SimProcess): Model;
}

export interface ModelWorld {
  readonly scheduler: Scheduler;
  readonly random: Random;
  readonly log: EventLog;
}

const NO_REPLY = "NO_REPLY";
const STALL_MS = 10 * 60_000;
/** How often each failure comes; those not named never end. */
const TIMES: Partial<Record<Directive, number>> = { "fail:transient": 2, "fail:rate": 2, overflow: 1 };
const FAILURES: Partial<Record<Directive, ModelError>> = {
  "fail:transient": { class: "transient", message: "overloaded" },
  "fail:rate": { class: "rate", message: "too many requests", retryAfterMs: 400 },
  "fail:down": { class: "transient", message: "still overloaded" },
  "fail:auth": { class: "auth", message: "the key is not valid" },
  "fail:request": { class: "request", message: "no provider would accept this" },
  overflow: { class: "overflow", message: "the prompt is too long" },
};

const NOBODY: ModelMessage = { role: "user", content: [] };
const textOf = (message: ModelMessage): string =>
  message.content.map((block) => (block.type === "text" ? block.text : "")).join("");
const callsOf = (message: ModelMessage): readonly ToolCallBlock[] =>
  message.content.filter((block): block is ToolCallBlock => block.type === "toolCall");

/** The marks by which an assistant message is known again: its answer's, and the ids of its calls. */
const marksOf = (message: ModelMessage): readonly string[] => [
  ...tokensIn(textOf(message), "r"),
  ...callsOf(message).map(({ id }) => id),
];

export function makeScriptedModel({ scheduler, random, log }: ModelWorld): ScriptedModel {
  const calls: ModelCall[] = [];
  /** `token|directive` → how often it was acted upon. */
  const acted = new Map<string, number>();

  const once = (token: string, directive: Directive, times: number): boolean => {
    const key = `${token}|${directive}`;
    const count = acted.get(key) ?? 0;
    if (count >= times) return false;
    acted.set(key, count + 1);
    return true;
  };

  /** What this call does: an error, tool calls or an answer; and how long it takes. */
  function script(call: ModelCall, messages: readonly ModelMessage[]): { ms: number; result: ModelResult } {
    const open = messages.slice(sinceLastAnswer(messages));
    const wanted = new Map<string, readonly Directive[]>();
    for (const message of open) {
      if (message.role === "user") for (const [token, list] of directivesIn(textOf(message))) wanted.set(token, list);
    }
    // Trouble comes for whom the call is made, not for those whose run it ended before.
    const last = new Set(tokensIn(textOf(open.findLast(({ role }) => role === "user") ?? NOBODY), "t"));
    const acted = open.some(({ role }) => role === "tool");
    let ms = random.int(30, 90);
    for (const [token, directives] of wanted) {
      if (!last.has(token) || (directives.includes("late") && !acted)) continue;
      for (const directive of directives) {
        const error = FAILURES[directive];
        if (error && once(token, directive, TIMES[directive] ?? Number.POSITIVE_INFINITY))
          return { ms, result: failing(call, error) };
        if (directive === "stall" && once(token, directive, 1)) {
          return { ms: STALL_MS, result: failing(call, { class: "transient", message: "no answer" }) };
        }
        if (directive === "slow" && once(token, directive, 1)) ms = random.int(2_000, 9_000);
      }
    }
    const asked = new Set(open.flatMap(callsOf).map(({ name, arguments: given }) => `${name} ${String(given.token)}`));
    const tools: Block[] = [];
    for (const [token, directives] of wanted) {
      for (const directive of directives) {
        const name = directive.startsWith("tool:") ? `sim_${directive.slice(5)}` : undefined;
        if (name === undefined || asked.has(`${name} ${token}`)) continue;
        const id = `call_${call.n}_${tools.length + 1}`;
        call.asked.push(id);
        // In no order a schema would choose: what is kept and read again must still give the same bytes.
        tools.push({
          signature: `s${call.n}`,
          arguments: { z: 1, token, a: { y: 2, b: 3 } },
          name,
          id,
          type: "toolCall",
        });
      }
    }
    if (tools.length > 0) return { ms, result: saying(tools, "tool_calls") };
    call.answer = `r${call.n}`;
    call.silent = wanted.size > 0 && [...wanted.values()].every((list) => list.includes("silent"));
    const told = [...wanted.keys()].map(tokenText).join(" ");
    const text = call.silent ? NO_REPLY : `${tokenText(call.answer)} answers ${told}`;
    return { ms, result: saying([{ signature: `s${call.n}`, text, type: "text" }], "stop") };
  }

  function failing(call: ModelCall, error: ModelError): ModelResult {
    call.error = error.class;
    return { ...saying([], "error"), error };
  }

  return {
    calls,
    port: (process) => ({
      call: (request, signal, onEvent) =>
        process.call<ModelResult>("model", "model", (answer) => {
          const users = request.messages.filter(({ role }) => role === "user");
          const fresh = request.messages.slice(sinceLastAnswer(request.messages)).filter(({ role }) => role === "user");
          const call: ModelCall = {
            n: calls.length + 1,
            process: process.name,
            startedAt: scheduler.time,
            endedAt: undefined,
            tokens: users.flatMap((message) => tokensIn(textOf(message), "t")),
            context: new Set(request.messages.filter(({ role }) => role === "assistant").flatMap(marksOf)),
            fresh: fresh.flatMap((message) => tokensIn(textOf(message), "t")),
            answer: undefined,
            silent: false,
            asked: [],
            error: undefined,
            sessionId: request.sessionId,
            bytes: [request.system, ...request.messages.map((message) => JSON.stringify(message))],
            unlawful: unlawful(request.messages),
            cost: request.messages.length,
          };
          calls.push(call);
          const { ms, result } = script(call, request.messages);
          log.write(process.name, `model ${call.n} sees ${call.fresh.join(" ")}`);
          const finish = (value: ModelResult, said: string): void => {
            if (call.endedAt !== undefined) return;
            call.endedAt = scheduler.time;
            log.write(process.name, `model ${call.n} ${said}`);
            answer({ value });
          };
          streamed(result).forEach((delta, index, all) => {
            scheduler.after((ms * (index + 1)) / (all.length + 1), () =>
              process.enter(() => {
                if (call.endedAt === undefined) onEvent({ type: "text", delta });
              }),
            );
          });
          scheduler.after(ms, () => finish(result, call.error ?? call.answer ?? call.asked.join(" ")));
          const abort = (): void => {
            scheduler.after(1, () => {
              if (call.endedAt !== undefined) return;
              call.answer = undefined;
              finish(failing(call, { class: "aborted", message: "aborted" }), "is aborted");
            });
          };
          if (signal.aborted) abort();
          else signal.addEventListener("abort", abort, { once: true });
        }),
    }),
  };
}

const saying = (content: readonly Block[], stopReason: ModelResult["stopReason"]): ModelResult => ({
  content,
  stopReason,
  api: "sim",
  provider: "sim",
  model: "sim-1",
  usage: { input: 10, output: 5, cacheRead: 0, cacheWrite: 0, totalTokens: 15 },
});

const streamed = (result: ModelResult): readonly string[] =>
  result.content.flatMap((block) => (block.type === "text" ? (block.text.match(/.{1,24}/gsu) ?? []) : []));

/** Where the messages begin that no finished answer stands behind. */
function sinceLastAnswer(messages: readonly ModelMessage[]): number {
  const last = messages.findLastIndex((message) => message.role === "assistant" && callsOf(message).length === 0);
  return last + 1;
}

/** What a strict provider would say: every call has its one result at once, and a turn ends with somebody else's word. */
function unlawful(messages: readonly ModelMessage[]): string | undefined {
  let open = new Set<string>();
  for (const message of messages) {
    if (message.role === "tool") {
      if (!open.delete(message.toolCallId ?? "")) return `a result for ${message.toolCallId} that nobody waits for`;
      continue;
    }
    if (open.size > 0) return `no result for ${[...open].join(", ")}`;
    if (message.role === "assistant") open = new Set(callsOf(message).map(({ id }) => id));
  }
  if (open.size > 0) return `no result for ${[...open].join(", ")}`;
  const last = messages.at(-1);
  return last === undefined || last.role === "assistant" ? "the last word is the assistant's own" : undefined;
}
