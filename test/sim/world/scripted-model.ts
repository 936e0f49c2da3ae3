/**
 * The model of the simulated world. It answers the tokens it has not answered yet, asks for the tools their directives
 * name, fails, stalls and overflows as told, and keeps a ledger of every call. It also plays the strict provider: a
 * history no provider would accept is noted.
 */
import type { Spend } from "../../../src/core/budget/budget.ts";
import type { Block, ToolCallBlock, Usage } from "../../../src/core/history/entry.ts";
import type {
  CallPrice,
  Model,
  ModelError,
  ModelMessage,
  ModelRequest,
  ModelResult,
} from "../../../src/core/ports/model.ts";
import type { Random } from "../../kit/random.ts";
import type { EventLog } from "./event-log.ts";
import type { SimProcess } from "./process.ts";
import type { Scheduler } from "./scheduler.ts";
import { isSummaryRequest, makeSummariser, type SimContext, type SummaryCall } from "./summariser.ts";
import { childMarksIn, type Directive, directivesIn, tokensIn, tokenText } from "./tokens.ts";

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
  /** What the prompt counts, in tokens. */
  readonly prompt: number;
  /** How many results of tools the model had seen since its last answer. */
  readonly results: number;
  /** What this call costs whoever made it, also where nobody heard its end. */
  charged: Spend;
}

export interface ScriptedModel {
  readonly calls: readonly ModelCall[];
  readonly summaries: readonly SummaryCall[];
  port(process: SimProcess): Model;
}

export interface ModelWorld {
  readonly scheduler: Scheduler;
  readonly random: Random;
  readonly log: EventLog;
  /** The provider's window; absent: it has none. */
  readonly context?: SimContext;
}

/** In micros for a token, as a provider would say it in dollars for a million. */
export const SIM_PRICE: CallPrice = {
  contextWindow: 1_000_000,
  maxTokens: 300,
  leastTokens: 20,
  cost: { input: 1, output: 10, cacheRead: 0, cacheWrite: 0 },
};
const BYTES_PER_TOKEN = 4;
const MIN_ANSWER = 5;

const NO_REPLY = "NO_REPLY";
const STALL_MS = 10 * 60_000;
/** How often each failure comes; those not named never end. */
const TIMES: Partial<Record<Directive, number>> = { "fail:transient": 2, "fail:rate": 2, "fail:cut": 1, overflow: 1 };
const OVERFLOW: ModelError = { class: "overflow", message: "the prompt is too long" };
const FAILURES: Partial<Record<Directive, ModelError>> = {
  "fail:transient": { class: "transient", message: "overloaded" },
  "fail:rate": { class: "rate", message: "too many requests", retryAfterMs: 400 },
  "fail:down": { class: "transient", message: "still overloaded" },
  "fail:cut": { class: "transient", message: "the connection broke off" },
  "fail:auth": { class: "auth", message: "the key is not valid" },
  "fail:request": { class: "request", message: "no provider would accept this" },
  overflow: OVERFLOW,
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

/** What a provider counts against its window, where the world has one: tools count nothing there. */
const contextTokens = ({ system, messages }: Pick<ModelRequest, "system" | "messages">): number =>
  tokensOf(system + messages.map(({ content }) => JSON.stringify(content)).join(""));

export function makeScriptedModel({ scheduler, random, log, context }: ModelWorld): ScriptedModel {
  const summariser = makeSummariser({ scheduler, random, log }, context?.manners ?? ["good"]);
  const calls: ModelCall[] = [];
  /** `token|directive` → how often it was acted upon. */
  const acted = new Map<string, number>();

  const everAsked = new Set<string>();

  const once = (token: string, directive: Directive, times: number): boolean => {
    const key = `${token}|${directive}`;
    const count = acted.get(key) ?? 0;
    if (count >= times) return false;
    acted.set(key, count + 1);
    return true;
  };

  /** What this call does: an error, tool calls or an answer; and how long it takes. */
  function script(call: ModelCall, { messages, maxTokens }: ModelRequest): { ms: number; result: ModelResult } {
    const open = messages.slice(sinceLastAnswer(messages));
    const wanted = new Map<string, readonly Directive[]>();
    for (const message of open) {
      if (message.role === "user") for (const [token, list] of directivesIn(textOf(message))) wanted.set(token, list);
    }
    // Trouble comes for whom the call is made, not for those whose run it ended before.
    const newest = textOf(open.findLast(({ role }) => role === "user") ?? NOBODY);
    const last = new Set([...tokensIn(newest, "t"), ...childMarksIn(newest)]);
    const due = (directives: readonly Directive[]): boolean =>
      call.results >= (directives.includes("later") ? 2 : directives.includes("late") ? 1 : 0);
    let ms = random.int(30, 90);
    if (isFlush(open.findLast(({ role }) => role === "user") ?? NOBODY)) return { ms, result: flushing(call, open) };
    for (const [token, directives] of wanted) {
      if (!last.has(token) || !due(directives)) continue;
      for (const directive of directives) {
        const error = FAILURES[directive];
        if (error && once(token, directive, TIMES[directive] ?? Number.POSITIVE_INFINITY))
          return { ms, result: failing(call, error, directive === "fail:cut" ? "half an ans" : "") };
        if (directive === "stall" && once(token, directive, 1)) {
          return { ms: STALL_MS, result: failing(call, { class: "transient", message: "no answer" }) };
        }
        if (directive === "slow" && once(token, directive, 1)) ms = random.int(2_000, 9_000);
      }
    }
    const asked = new Set(open.flatMap(callsOf).map(({ name, arguments: given }) => `${name} ${String(given.token)}`));
    // What a summary stands for may hold calls that were asked for: they are not asked for again.
    const compacted = open[0]?.role === "user" && isSummary(open[0]);
    for (const what of compacted ? everAsked : []) asked.add(what);
    const tools: Block[] = [];
    for (const [token, directives] of wanted) {
      for (const directive of directives) {
        const name = directive.startsWith("tool:") ? `sim_${directive.slice(5)}` : undefined;
        if (name === undefined || asked.has(`${name} ${token}`)) continue;
        if (directives.includes("chain") && tools.length > 0) continue;
        const id = `call_${call.n}_${tools.length + 1}`;
        call.asked.push(id);
        everAsked.add(`${name} ${token}`);
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
    for (const [token, directives] of wanted) {
      for (const { name, given } of childCalls(token, directives, asked)) {
        const id = `call_${call.n}_${tools.length + 1}`;
        call.asked.push(id);
        tools.push({ signature: `s${call.n}`, arguments: given, name, id, type: "toolCall" });
      }
    }
    const longest = Math.min(SIM_PRICE.maxTokens, maxTokens ?? SIM_PRICE.maxTokens);
    const written = random.int(MIN_ANSWER, Math.max(MIN_ANSWER, longest));
    const answering = (content: readonly Block[], stop: ModelResult["stopReason"]) => {
      const usage = usageFor(call.prompt, written);
      call.charged = chargeFor(usage);
      return { ms, result: { ...saying(content, stop), usage } };
    };
    if (tools.length > 0) return answering(tools, "tool_calls");
    call.answer = `r${call.n}`;
    call.silent = wanted.size > 0 && [...wanted.values()].every((list) => list.includes("silent"));
    const told = [...wanted.keys()].map(tokenText).join(" ");
    const text = call.silent ? NO_REPLY : `${tokenText(call.answer)} answers ${told}`;
    return answering([{ signature: `s${call.n}`, text, type: "text" }], "stop");
  }

  /** Asked to write down what matters: by a tool that must not be repeated, or not at all. */
  function flushing(call: ModelCall, open: readonly ModelMessage[]): ModelResult {
    const since = open.slice(open.findLastIndex(isFlush));
    if (since.some(({ role }) => role === "tool") || random.chance(0.3)) {
      return saying([{ signature: `s${call.n}`, text: NO_REPLY, type: "text" }], "stop");
    }
    const id = `call_${call.n}_1`;
    call.asked.push(id);
    const given = { token: `f${call.n}` };
    return saying([{ arguments: given, name: "sim_never", id, type: "toolCall" }], "tool_calls");
  }

  /** Costs nothing where no answer began; the prompt where it was aborted; also what was said where it broke off. */
  function failing(call: ModelCall, error: ModelError, said = ""): ModelResult {
    call.error = error.class;
    const began = said !== "" || error.class === "aborted";
    call.charged = began ? chargeFor(usageFor(call.prompt, tokensOf(said))) : { tokens: 0, micros: 0 };
    const content: readonly Block[] = said === "" ? [] : [{ type: "text", text: said }];
    return { ...saying(content, "error"), error };
  }

  return {
    calls,
    summaries: summariser.summaries,
    port: (process) => ({
      price: async () => SIM_PRICE,
      call: (request, signal, onEvent) => {
        if (isSummaryRequest(request)) return summariser.call(process, request, signal);
        return process.call<ModelResult>("model", "model", (answer) => {
          const users = request.messages.filter(({ role }) => role === "user");
          const fresh = request.messages.slice(sinceLastAnswer(request.messages)).filter(({ role }) => role === "user");
          const call: ModelCall = {
            n: calls.length + 1,
            process: process.name,
            startedAt: scheduler.time,
            endedAt: undefined,
            tokens: users.flatMap((message) => tokensIn(textOf(message), "t")),
            context: new Set(request.messages.filter(({ role }) => role === "assistant").flatMap(marksOf)),
            fresh: fresh.flatMap((message) => [...tokensIn(textOf(message), "t"), ...childMarksIn(textOf(message))]),
            answer: undefined,
            silent: false,
            asked: [],
            error: undefined,
            sessionId: request.sessionId,
            bytes: [request.system, ...request.messages.map((message) => JSON.stringify(message))],
            unlawful: unlawful(request.messages),
            results: request.messages.slice(sinceLastAnswer(request.messages)).filter(({ role }) => role === "tool")
              .length,
            prompt: tokensOf(JSON.stringify([request.system, request.messages, request.tools])),
            charged: { tokens: 0, micros: 0 },
          };
          calls.push(call);
          const sent = contextTokens(request);
          const tooLong = context !== undefined && sent > context.window;
          const scripted = tooLong ? { ms: 20, result: failing(call, OVERFLOW) } : script(call, request);
          const { ms } = scripted;
          const result = context ? { ...scripted.result, usage: usageFor(sent, 20) } : scripted.result;
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
        });
      },
    }),
  };
}

/** What each directive wants of a child: the words behind its mark, and what is said of it beside. */
const CHILDREN: Partial<Record<Directive, readonly { readonly words: string; readonly beside?: object }[]>> = {
  spawn: [{ words: "" }],
  "spawn:slow": [{ words: "slow" }],
  "spawn:fail": [{ words: "fail:auth" }],
  "spawn:stall": [{ words: "stall", beside: { runTimeoutSeconds: 4 } }],
  "spawn:poison": [{ words: "tool:poison" }],
  "spawn:delete": [{ words: "", beside: { cleanup: "delete" } }],
  "spawn:many": Array.from({ length: 20 }, () => ({ words: "" })),
  "spawn:tree": [{ words: "spawn:branch await" }],
  "spawn:branch": [{ words: "spawn await" }],
};

/** The calls that start the children a token asks for, and then wait for them; each once. */
function childCalls(
  token: string,
  directives: readonly Directive[],
  asked: ReadonlySet<string>,
): readonly { readonly name: string; readonly given: Record<string, unknown> }[] {
  const wanted = directives.flatMap((directive) => CHILDREN[directive] ?? []);
  const marks = wanted.map((_, index) => `${token.replace("t", "s")}_${index + 1}`);
  const started = (mark: string): boolean => asked.has(`sessions_spawn ${mark}`);
  const spawns = wanted.flatMap(({ words, beside }, index) => {
    const mark = marks[index] as string;
    const label = tokenText(mark);
    return started(mark)
      ? []
      : [{ name: "sessions_spawn", given: { token: mark, task: `${label} ${words}`.trim(), label, ...beside } }];
  });
  if (spawns.length > 0 || !directives.includes("await")) return spawns;
  return marks.flatMap((mark) =>
    asked.has(`subagents ${mark}`)
      ? []
      : [{ name: "subagents", given: { token: mark, action: "wait", id: tokenText(mark), timeoutSeconds: 20 } }],
  );
}

const saying = (content: readonly Block[], stopReason: ModelResult["stopReason"]): ModelResult => ({
  content,
  stopReason,
  api: "sim",
  provider: "sim",
  model: "sim-1",
});

const tokensOf = (text: string): number => Math.ceil(new TextEncoder().encode(text).length / BYTES_PER_TOKEN);

function usageFor(input: number, output: number): Usage {
  const total = (input + 10 * output) / 1e6;
  const cost = { input: input / 1e6, output: (10 * output) / 1e6, cacheRead: 0, cacheWrite: 0, total };
  return { input, output, cacheRead: 0, cacheWrite: 0, totalTokens: input + output, cost };
}

/** What the provider's bill says. */
const chargeFor = ({ input, output }: Usage): Spend => ({ tokens: input + output, micros: input + 10 * output });

const streamed = (result: ModelResult): readonly string[] =>
  result.content.flatMap((block) => (block.type === "text" ? (block.text.match(/.{1,24}/gsu) ?? []) : []));

export const SUMMARY_OPENS = "The conversation history before this point was compacted";
const isSummary = (message: ModelMessage): boolean => textOf(message).startsWith(SUMMARY_OPENS);

const isFlush = (message: ModelMessage): boolean =>
  message.role === "user" && textOf(message).includes("Write any important context to memory files");

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
