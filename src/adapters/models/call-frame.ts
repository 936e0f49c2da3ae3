/**
 * What every adaptor's call has around it: abort and silence end it at once with what had arrived, and whatever went
 * wrong becomes one of the classes, in words that hold no key. Never throws.
 */
import type { Block, StopReason, Usage } from "../../core/history/entry.ts";
import type { ModelError, ModelEvent } from "../../core/ports/model.ts";
import { classifyFailure } from "./classify-error.ts";
import { Exchange, Silence } from "./exchange.ts";
import { cutSilently } from "./overflow.ts";
import type { CallDeps, ProviderCall, ProviderResult } from "./provider-call.ts";
import type { ProviderError } from "./provider-error.ts";
import { scrub } from "./scrub.ts";

export interface Said {
  readonly content: readonly Block[];
  readonly stopReason: StopReason;
  readonly usage?: Usage;
}

/** An answer while it grows: looked at when the call ends, however it ends, so that an abort keeps what was said. */
export interface Draft {
  look: () => Said;
}

/** The provider, or its library, says that the call failed. */
export interface Told {
  readonly status?: number;
  readonly error?: ProviderError;
  readonly retryAfterMs?: number;
}

export interface Frame {
  readonly exchange: Exchange;
  /** Aborts when the call is to end, for whatever reason. */
  readonly signal: AbortSignal;
  readonly draft: Draft;
  /** Passes events on as long as the call is open, and no longer. */
  readonly say: (event: ModelEvent) => void;
}

/** The inside of a call. Fills the draft; gives what the provider was heard to say where it failed, throws where it broke. */
export type CallBody = (frame: Frame) => Promise<Told | undefined>;

export async function frameCall(deps: CallDeps, call: ProviderCall, body: CallBody): Promise<ProviderResult> {
  const draft: Draft = { look: () => ({ content: [], stopReason: "stop" }) };
  if (call.signal.aborted) return resultOf(call, draft, ABORTED);
  const ending = new AbortController();
  let cause: "aborted" | "silence" | undefined;
  const ended = Promise.withResolvers<"ended">();
  const end = (why: "aborted" | "silence"): void => {
    cause ??= why;
    ended.resolve("ended");
    ending.abort();
  };
  const onAbort = (): void => end("aborted");
  call.signal.addEventListener("abort", onAbort, { once: true });
  const silence = new Silence(deps.clock, call.stallMs, () => end("silence"));
  const exchange = new Exchange(deps, silence, call.key === undefined);
  let open = true;
  const say = (event: ModelEvent): void => {
    if (open) call.onEvent(event);
  };
  try {
    const work = settle(body({ exchange, signal: ending.signal, draft, say }));
    const outcome = await Promise.race([work, ended.promise]);
    if (cause === "aborted") return resultOf(call, draft, ABORTED);
    if (cause === "silence") return resultOf(call, draft, silent(call));
    if (outcome === "ended" || outcome === undefined) return judged(call, draft, exchange);
    return failed(call, draft, exchange, outcome);
  } finally {
    open = false;
    silence.end();
    call.signal.removeEventListener("abort", onAbort);
  }
}

/** An exception is a told failure without words: the connection or the protocol broke. */
async function settle(work: Promise<Told | undefined>): Promise<Told | { readonly broke: unknown } | undefined> {
  try {
    return await work;
  } catch (broke) {
    return { broke };
  }
}

const ABORTED: ModelError = { class: "aborted", message: "aborted" };

const silent = ({ model, stallMs }: ProviderCall): ModelError => ({
  class: "transient",
  message: `${model.provider} said nothing for ${Math.round(stallMs / 1000)} seconds.`,
});

/** A success, unless the provider silently cut the prompt. */
function judged(call: ProviderCall, draft: Draft, exchange: Exchange): ProviderResult {
  const { contextWindow } = call.model;
  const { status } = exchange;
  const { stopReason, usage } = draft.look();
  if (!cutSilently(stopReason, usage, contextWindow)) return resultOf(call, draft, undefined, status);
  const message = `The prompt is longer than the ${contextWindow} tokens of ${call.model.provider}/${call.model.id}.`;
  return resultOf(call, draft, { class: "overflow", message }, status);
}

function failed(
  call: ProviderCall,
  draft: Draft,
  exchange: Exchange,
  told: Told | { readonly broke: unknown },
): ProviderResult {
  const heard = "broke" in told ? undefined : told;
  const answered = heard?.status ?? exchange.status;
  const status = answered !== undefined && answered >= 300 ? answered : undefined;
  const error = heard?.error ?? exchange.error();
  const { provider } = call.model;
  const retryAfterMs = heard?.retryAfterMs ?? exchange.retryAfterMs;
  const modelError: ModelError = {
    class: classifyFailure({ status, ...error }, provider),
    message: scrub(error ? saidText(provider, status, error) : brokeText(call, exchange, told), call.key),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  };
  return resultOf(call, draft, modelError, status);
}

const saidText = (provider: string, status: number | undefined, { text }: ProviderError): string =>
  status === undefined ? `${provider} said: ${text}` : `${provider} answered ${status}: ${text}`;

/** Names what the system says, never what was being read: that may be a part of a conversation. */
function brokeText({ model }: ProviderCall, { status }: Exchange, told: object): string {
  const broke = "broke" in told ? told.broke : undefined;
  const code = systemCode(broke);
  if (status === undefined)
    return `${model.provider} could not be reached at ${placeOf(model.baseUrl)}${code ? ` (${code})` : ""}.`;
  return code
    ? `The connection to ${model.provider} broke off (${code}).`
    : `The answer of ${model.provider} broke off or could not be read.`;
}

/** An address without what may be a secret in it: some servers take their key there. */
function placeOf(address: string): string {
  const url = URL.parse(address);
  return url ? `${url.origin}${url.pathname}` : "its address";
}

/** `ECONNREFUSED` and the like, wherever in the chain of causes it is. */
function systemCode(error: unknown): string | undefined {
  for (let at: unknown = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth++) {
    const { code } = at as { code?: unknown };
    if (typeof code === "string" && /^[A-Z][A-Z0-9_]+$/.test(code)) return code;
  }
  return undefined;
}

function resultOf(call: ProviderCall, draft: Draft, error?: ModelError, status?: number): ProviderResult {
  const { api, provider, id: model } = call.model;
  const { content, stopReason, usage } = draft.look();
  return {
    content,
    stopReason: error === undefined ? stopReason : error.class === "aborted" ? "aborted" : "error",
    api,
    provider,
    model,
    ...(usage ? { usage } : {}),
    ...(error ? { error } : {}),
    ...(status === undefined ? {} : { status }),
  };
}
