/**
 * The model of the simulated world. It answers the tokens it has not answered yet, asks for the tools their directives
 * name, fails, stalls and overflows as they say, and records every call. It also acts as a strict provider: it
 * records a history that no provider would accept.
 */
import type { Spend } from "../../../src/core/budget/budget.ts";
import type { Block, Usage } from "../../../src/core/history/entry.ts";
import type {
  CallPrice,
  Model,
  ModelError,
  ModelEvent,
  ModelMessage,
  ModelRequest,
  ModelResult,
} from "../../../src/core/ports/model.ts";
import type { Random } from "../../kit/random.ts";
import type { EventLog } from "./event-log.ts";
import { callsOf, idOfProvider, type ModelCall, newCall, sinceLastAnswer, textOf, tokensOf } from "./model-call.ts";
import type { SimProcess } from "./process.ts";
import type { Scheduler } from "./scheduler.ts";
import { isSummaryRequest, makeSummariser, type SimContext, type Summariser, type SummaryCall } from "./summariser.ts";
import { childMarksIn, type Directive, directivesIn, tokensIn, tokenText } from "./tokens.ts";

export interface ModelDeps {
  readonly scheduler: Scheduler;
  readonly random: Random;
  readonly log: EventLog;
  /** The provider's context window. Absent: no limit. */
  readonly context?: SimContext;
  /** The provider uses ids of tool calls again: in one answer, and in a later turn. */
  readonly repeatsIds?: boolean;
}

/** In micros per token, which equals dollars per million tokens. */
export const SIM_PRICE: CallPrice = {
  contextWindow: 1_000_000,
  maxTokens: 300,
  leastTokens: 20,
  cost: { input: 1, output: 10, cacheRead: 0, cacheWrite: 0 },
};
const MIN_ANSWER = 5;

const NO_REPLY = "NO_REPLY";
/** How many pages a run reads, one in each turn: several windows full. */
const PAGES = 24;
const STALL_MS = 10 * 60_000;
/** How often each failure happens; failures not listed here never end. */
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

const NO_MESSAGE: ModelMessage = { role: "user", content: [] };
/** The prompt size that a provider compares with its window, if it has one. Tools count nothing. */
const contextTokens = ({ system, messages }: Pick<ModelRequest, "system" | "messages">): number =>
  tokensOf(system + messages.map(({ content }) => JSON.stringify(content)).join(""));

export class ScriptedModel {
  readonly calls: ModelCall[] = [];
  readonly #deps: ModelDeps;
  readonly #summariser: Summariser;
  /** `token|directive` → how often it was executed. */
  readonly #acted = new Map<string, number>();
  /** `tool token` of every call requested so far. */
  readonly #everAsked = new Set<string>();

  constructor(deps: ModelDeps) {
    this.#deps = deps;
    this.#summariser = makeSummariser(deps, deps.context?.manners ?? ["good"]);
  }

  get summaries(): readonly SummaryCall[] {
    return this.#summariser.summaries;
  }

  port(process: SimProcess): Model {
    return {
      price: async () => SIM_PRICE,
      call: (request, signal, onEvent) =>
        isSummaryRequest(request)
          ? this.#summariser.call(process, request, signal)
          : this.#call(process, request, signal, onEvent),
    };
  }

  #call(
    process: SimProcess,
    request: ModelRequest,
    signal: AbortSignal,
    onEvent: (event: ModelEvent) => void,
  ): Promise<ModelResult> {
    const { scheduler, log, context } = this.#deps;
    return process.call<ModelResult>("model", "model", (answer) => {
      const call = newCall(this.calls.length + 1, process.name, scheduler.time, request);
      this.calls.push(call);
      const sent = contextTokens(request);
      const tooLong = context !== undefined && sent > context.window;
      const scripted = tooLong ? { ms: 20, result: failing(call, OVERFLOW) } : this.#script(call, request);
      const { ms } = scripted;
      const result = context ? { ...scripted.result, usage: usageFor(sent, 20) } : scripted.result;
      log.write(process.name, `model ${call.n} sees ${call.fresh.join(" ")}`);
      const finish = (value: ModelResult, what: string): void => {
        if (call.endedAt !== undefined) return;
        call.endedAt = scheduler.time;
        log.write(process.name, `model ${call.n} ${what}`);
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
  }

  /** What this call does: an error, tool calls or an answer; and how long it takes. */
  #script(call: ModelCall, { messages, maxTokens }: ModelRequest): { ms: number; result: ModelResult } {
    const { random } = this.#deps;
    const open = messages.slice(sinceLastAnswer(messages));
    const newest = open.findLast(({ role }) => role === "user") ?? NO_MESSAGE;
    const wanted = wantedIn(open);
    const usualMs = random.int(30, 90);
    if (isFlush(newest)) return { ms: usualMs, result: this.#flush(call, open) };
    const trouble = this.#trouble(call, wanted, textOf(newest));
    if (trouble.result) return { ms: trouble.ms ?? usualMs, result: trouble.result };
    const ms = trouble.ms ?? usualMs;
    const tools = this.#toolCalls(call, wanted, open);
    const longest = Math.min(SIM_PRICE.maxTokens, maxTokens ?? SIM_PRICE.maxTokens);
    const usage = usageFor(call.prompt, random.int(MIN_ANSWER, Math.max(MIN_ANSWER, longest)));
    call.charged = chargeFor(usage);
    if (tools.length > 0) return { ms, result: { ...saying(tools, "tool_calls"), usage } };
    call.answer = `r${call.n}`;
    call.silent = wanted.size > 0 && [...wanted.values()].every((list) => list.includes("silent"));
    const answered = [...wanted.keys()].map(tokenText).join(" ");
    const text = call.silent ? NO_REPLY : `${tokenText(call.answer)} answers ${answered}`;
    return { ms, result: { ...saying([{ signature: `s${call.n}`, text, type: "text" }], "stop"), usage } };
  }

  /** The failure or delay that a directive of the newest message asks for. Older messages caused theirs before. */
  #trouble(call: ModelCall, wanted: Wanted, newest: string): { ms?: number; result?: ModelResult } {
    const last = new Set([...tokensIn(newest, "t"), ...childMarksIn(newest)]);
    const due = (directives: readonly Directive[]): boolean =>
      call.results >= (directives.includes("later") ? 2 : directives.includes("late") ? 1 : 0);
    let ms: number | undefined;
    for (const [token, directives] of wanted) {
      if (!last.has(token) || !due(directives)) continue;
      for (const directive of directives) {
        const error = FAILURES[directive];
        if (error && this.#once(token, directive, TIMES[directive] ?? Number.POSITIVE_INFINITY))
          return { ms, result: failing(call, error, directive === "fail:cut" ? "half an ans" : "") };
        if (directive === "stall" && this.#once(token, directive, 1))
          return { ms: STALL_MS, result: failing(call, { class: "transient", message: "no answer" }) };
        if (directive === "slow" && this.#once(token, directive, 1)) ms = this.#deps.random.int(2_000, 9_000);
      }
    }
    return { ms };
  }

  /** Whether a directive may be executed once more. */
  #once(token: string, directive: Directive, times: number): boolean {
    const key = `${token}|${directive}`;
    const count = this.#acted.get(key) ?? 0;
    if (count >= times) return false;
    this.#acted.set(key, count + 1);
    return true;
  }

  /** The tool calls that the directives ask for and that were not requested yet. */
  #toolCalls(call: ModelCall, wanted: Wanted, open: readonly ModelMessage[]): readonly Block[] {
    const asked = new Set(open.flatMap(callsOf).map(({ name, arguments: given }) => `${name} ${String(given.token)}`));
    // A summary may replace messages with calls: these are not requested again.
    const compacted = open[0]?.role === "user" && isSummary(open[0]);
    for (const what of compacted ? this.#everAsked : []) asked.add(what);
    const tools: Block[] = [];
    const { random, repeatsIds } = this.#deps;
    const last = repeatsIds ? open.flatMap(callsOf).at(-1) : undefined;
    const earlier = last && idOfProvider(last.id);
    const ask = (name: string, given: Record<string, unknown>): void => {
      const used = repeatsIds && random.chance(0.6) ? (call.asked[0] ?? earlier) : undefined;
      const id = used ?? `call_${call.n}_${tools.length + 1}`;
      call.asked.push(id);
      // The keys are in an unusual order: stored and read again they must still give the same bytes.
      tools.push({ signature: `s${call.n}`, arguments: given, name, id, type: "toolCall" });
    };
    for (const [token, directives] of wanted) {
      for (const directive of directives) {
        const name = directive.startsWith("tool:") ? `sim_${directive.slice(5)}` : undefined;
        if (name === undefined) continue;
        if (directive === "tool:pages") {
          if (this.#once(token, directive, PAGES)) ask(name, { token });
          continue;
        }
        if (asked.has(`${name} ${token}`)) continue;
        if (directives.includes("chain") && tools.length > 0) continue;
        this.#everAsked.add(`${name} ${token}`);
        ask(name, { z: 1, token, a: { y: 2, b: 3 } });
      }
    }
    for (const [token, directives] of wanted) {
      for (const { name, given } of childCalls(token, directives, asked)) ask(name, given);
    }
    return tools;
  }

  /** The answer to a memory flush: a call of a tool that must not be repeated, or no call. */
  #flush(call: ModelCall, open: readonly ModelMessage[]): ModelResult {
    const since = open.slice(open.findLastIndex(isFlush));
    if (since.some(({ role }) => role === "tool") || this.#deps.random.chance(0.3)) {
      return saying([{ signature: `s${call.n}`, text: NO_REPLY, type: "text" }], "stop");
    }
    const id = `call_${call.n}_1`;
    call.asked.push(id);
    const given = { token: `f${call.n}` };
    return saying([{ arguments: given, name: "sim_never", id, type: "toolCall" }], "tool_calls");
  }
}

/** Token → its directives. */
type Wanted = ReadonlyMap<string, readonly Directive[]>;

function wantedIn(open: readonly ModelMessage[]): Wanted {
  const wanted = new Map<string, readonly Directive[]>();
  for (const message of open) {
    if (message.role === "user") for (const [token, list] of directivesIn(textOf(message))) wanted.set(token, list);
  }
  return wanted;
}

/** Costs nothing if no answer began; the prompt if it was aborted; the text too if the stream broke off. */
function failing(call: ModelCall, error: ModelError, text = ""): ModelResult {
  call.error = error.class;
  const began = text !== "" || error.class === "aborted";
  call.charged = began ? chargeFor(usageFor(call.prompt, tokensOf(text))) : { tokens: 0, micros: 0 };
  const content: readonly Block[] = text === "" ? [] : [{ type: "text", text }];
  return { ...saying(content, "error"), error };
}

/** What each directive asks of a child: the directives in its task, and further arguments of the spawn call. */
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
  "spawn:act": [{ words: "slow tool:act" }, { words: "slow tool:act" }],
  "spawn:acts": [{ words: "spawn:act await" }],
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

function usageFor(input: number, output: number): Usage {
  const total = (input + 10 * output) / 1e6;
  const cost = { input: input / 1e6, output: (10 * output) / 1e6, cacheRead: 0, cacheWrite: 0, total };
  return { input, output, cacheRead: 0, cacheWrite: 0, totalTokens: input + output, cost };
}

/** The usage and cost that the provider reports. */
const chargeFor = ({ input, output }: Usage): Spend => ({ tokens: input + output, micros: input + 10 * output });

const streamed = (result: ModelResult): readonly string[] =>
  result.content.flatMap((block) => (block.type === "text" ? (block.text.match(/.{1,24}/gsu) ?? []) : []));

export const SUMMARY_OPENS = "The conversation history before this point was compacted";
const isSummary = (message: ModelMessage): boolean => textOf(message).startsWith(SUMMARY_OPENS);

const isFlush = (message: ModelMessage): boolean =>
  message.role === "user" && textOf(message).includes("Write any important context to memory files");
