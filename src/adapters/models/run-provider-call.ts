/**
 * Runs an adaptor's call. An abort or a stall ends it at once with what has arrived so far; every failure gets one of the
 * error classes and a text without keys. Never throws.
 */
import type { Block, StopReason, Usage } from "../../core/history/entry.ts";
import type { ModelError, ModelErrorClass, ModelEvent } from "../../core/ports/model.ts";
import { classifyFailure } from "./classify-error.ts";
import { HttpExchange, StallTimer } from "./http-exchange.ts";
import { cutSilently } from "./overflow.ts";
import type { CallDeps, ProviderCall, ProviderResult } from "./provider-call.ts";
import type { ProviderError } from "./provider-error.ts";
import { redactKeys } from "./redact-keys.ts";

export interface Answer {
  readonly content: readonly Block[];
  readonly stopReason: StopReason;
  readonly usage?: Usage;
  /** It was longer than the request allows: this is its beginning. */
  readonly cut?: boolean;
}

/** An answer while it grows. Read when the call ends in any way, so that an abort keeps what has arrived. */
export interface AnswerDraft {
  read: () => Answer;
}

/** A failure that the provider or its library reported. */
export interface ReportedFailure {
  readonly status?: number;
  readonly error?: ProviderError;
  readonly retryAfterMs?: number;
  /** Absent: found by status, code and text. */
  readonly class?: ModelErrorClass;
}

export interface CallContext {
  readonly exchange: HttpExchange;
  /** Aborts when the call ends early. */
  readonly signal: AbortSignal;
  readonly draft: AnswerDraft;
  /** Ends the request: the rest of the answer is not needed. */
  readonly abandon: () => void;
  /** Forwards events until the call ends. */
  readonly forward: (event: ModelEvent) => void;
}

/** The adaptor's part of a call. Fills the draft. Returns a failure that the provider reported; throws if the connection broke. */
type CallBody = (frame: CallContext) => Promise<ReportedFailure | undefined>;

export async function runProviderCall(deps: CallDeps, call: ProviderCall, body: CallBody): Promise<ProviderResult> {
  const draft: AnswerDraft = { read: () => ({ content: [], stopReason: "stop" }) };
  if (call.signal.aborted) return resultOf(call, draft, ABORTED);
  const ending = new AbortController();
  let cause: "aborted" | "stalled" | undefined;
  const ended = Promise.withResolvers<"ended">();
  const end = (why: "aborted" | "stalled"): void => {
    cause ??= why;
    ended.resolve("ended");
    ending.abort();
  };
  const onAbort = (): void => end("aborted");
  call.signal.addEventListener("abort", onAbort, { once: true });
  const stall = new StallTimer(deps.clock, call.stallMs, () => end("stalled"));
  const exchange = new HttpExchange(deps, stall, call.key === undefined);
  let open = true;
  const forward = (event: ModelEvent): void => {
    if (open) call.onEvent(event);
  };
  try {
    const work = settle(body({ exchange, signal: ending.signal, draft, abandon: () => ending.abort(), forward }));
    const outcome = await Promise.race([work, ended.promise]);
    if (cause === "aborted") return resultOf(call, draft, ABORTED);
    if (cause === "stalled") return resultOf(call, draft, stalled(call));
    if (outcome === "ended" || outcome === undefined) return succeeded(call, draft, exchange);
    return failed(call, draft, exchange, outcome);
  } finally {
    open = false;
    stall.cancel();
    call.signal.removeEventListener("abort", onAbort);
  }
}

/** An exception means that the connection or the protocol broke. */
async function settle(
  work: Promise<ReportedFailure | undefined>,
): Promise<ReportedFailure | { readonly broke: unknown } | undefined> {
  try {
    return await work;
  } catch (broke) {
    return { broke };
  }
}

const ABORTED: ModelError = { class: "aborted", message: "aborted" };

const stalled = ({ model, stallMs }: ProviderCall): ModelError => ({
  class: "transient",
  message: `${model.provider} sent no data for ${Math.round(stallMs / 1000)} seconds.`,
});

/** A success, unless the provider silently cut the prompt. */
function succeeded(call: ProviderCall, draft: AnswerDraft, exchange: HttpExchange): ProviderResult {
  const { contextWindow } = call.model;
  const { status } = exchange;
  const { stopReason, usage } = draft.read();
  if (!cutSilently(stopReason, usage, contextWindow)) return resultOf(call, draft, undefined, status);
  const message = `The prompt is longer than the ${contextWindow} tokens of ${call.model.provider}/${call.model.id}.`;
  return resultOf(call, draft, { class: "overflow", message }, status);
}

function failed(
  call: ProviderCall,
  draft: AnswerDraft,
  exchange: HttpExchange,
  outcome: ReportedFailure | { readonly broke: unknown },
): ProviderResult {
  const reported = "broke" in outcome ? undefined : outcome;
  const answered = reported?.status ?? exchange.status;
  const status = answered !== undefined && answered >= 300 ? answered : undefined;
  const error = reported?.error ?? exchange.error();
  const { provider } = call.model;
  const retryAfterMs = reported?.retryAfterMs ?? exchange.retryAfterMs;
  const modelError: ModelError = {
    class: reported?.class ?? classifyFailure({ status, ...error }, provider),
    message: redactKeys(error ? reportedText(provider, status, error) : brokeText(call, exchange, outcome), call.key),
    retryAfterMs,
  };
  return resultOf(call, draft, modelError, status);
}

const reportedText = (provider: string, status: number | undefined, { text }: ProviderError): string =>
  status === undefined ? `${provider} said: ${text}` : `${provider} answered ${status}: ${text}`;

/** Names the system's error code, never the data: that may be part of a conversation. */
function brokeText({ model }: ProviderCall, { status }: HttpExchange, outcome: object): string {
  const broke = "broke" in outcome ? outcome.broke : undefined;
  const code = systemCode(broke);
  if (status === undefined)
    return `${model.provider} could not be reached at ${placeOf(model.baseUrl)}${code ? ` (${code})` : ""}.`;
  return code
    ? `The connection to ${model.provider} broke off (${code}).`
    : `The answer of ${model.provider} broke off or could not be read.`;
}

/** The address without its query: some servers take the key there. */
function placeOf(address: string): string {
  const url = URL.parse(address);
  return url ? `${url.origin}${url.pathname}` : "its address";
}

/** `ECONNREFUSED` and the like, from anywhere in the chain of causes. */
function systemCode(error: unknown): string | undefined {
  for (let at: unknown = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth++) {
    const { code } = at as { code?: unknown };
    if (typeof code === "string" && /^[A-Z][A-Z0-9_]+$/.test(code)) return code;
  }
  return undefined;
}

function resultOf(call: ProviderCall, draft: AnswerDraft, error?: ModelError, status?: number): ProviderResult {
  const { api, provider, id: model } = call.model;
  const { content, stopReason, usage, cut } = draft.read();
  return {
    content,
    stopReason: error === undefined ? stopReason : error.class === "aborted" ? "aborted" : "error",
    api,
    provider,
    model,
    usage,
    error,
    status,
    cut,
  };
}
