/**
 * The model port as the engine sees it: picks the provider, the key and, where those cannot answer, the next model, all
 * within one call. It never waits and never asks the same model with the same key twice in a call; waiting and asking
 * again is the loop's alone, and the router learns from `tries` how far the loop has got.
 */

import { errorText } from "../../core/errors.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { Log } from "../../core/ports/log.ts";
import {
  type CallPrice,
  MODEL_TRIES,
  type Model,
  type ModelChoice,
  type ModelError,
  type ModelEvent,
  type ModelRequest,
  type ModelResult,
} from "../../core/ports/model.ts";
import { AUTO } from "./choose-model.ts";
import type { Key } from "./key-ring.ts";
import type { CallDeps, ProviderApi, ProviderResult } from "./provider-call.ts";
import { modelName, type ProviderModel, splitModelName } from "./provider-model.ts";
import type { Provider } from "./providers.ts";
import { checkThinking, nearestThinking, type ThinkingLevel } from "./thinking.ts";

export interface RouterOptions {
  readonly deps: CallDeps;
  readonly log: Log;
  readonly providers: {
    provider(name: string): Provider | undefined;
    model(name: string): Promise<ProviderModel | undefined>;
  };
  /** The adaptor that speaks a model's API, loaded when it is first needed; undefined where none does. */
  readonly apiFor: (model: ProviderModel) => Promise<ProviderApi | undefined>;
  /** Finds a model where none is configured. Gives a name, `offline` where there is nothing. */
  readonly detect: () => Promise<string>;
  readonly offline: Model;
}

/** How long a model that failed to the end is passed over where another can answer. */
const REST_MS = 60_000;
/** The shortest limits of an answer that make sense; thinking takes its part of it first. */
const MIN_TOKENS = 256;
const MIN_WITH_THINKING = 4_096;
/** Subscription tokens of another program: the library would pretend to be that program. */
const BORROWED_KEY = /sk-ant-oat/;

export class ModelRouter implements Model {
  readonly #options: RouterOptions;
  readonly #clock: Clock;
  readonly #restUntil = new Map<string, number>();

  constructor(options: RouterOptions) {
    this.#options = options;
    this.#clock = options.deps.clock;
  }

  async call(request: ModelRequest, signal: AbortSignal, onEvent: (event: ModelEvent) => void): Promise<ModelResult> {
    const forwarder = eventForwarder(onEvent, (request.tries ?? 1) > 1);
    const failures: ModelResult[] = [];
    for (const name of this.#candidates(request)) {
      const first = name === request.model;
      const result = await this.#ask(name, first, request, signal, forwarder);
      if (this.#judge(name, first, result, request) === "done") return withUsageOf(failures, result);
      failures.push(result);
      this.#options.log.warn("a model could not answer", { model: name, class: result.error?.class });
    }
    const best = worthiest(failures);
    return withUsageOf(
      failures.filter(({ usage }) => usage !== best.usage),
      best,
    );
  }

  /** The dearest of those that may answer: which one will, nobody knows before. */
  async price({ model, fallbacks = [], thinking }: ModelChoice): Promise<CallPrice | undefined> {
    const prices: CallPrice[] = [];
    for (const name of new Set([model, ...fallbacks])) {
      const price = await this.#priceOf(name, thinking).catch(() => undefined);
      if (price) prices.push(price);
    }
    return prices.length === 0 ? undefined : prices.reduce(dearer);
  }

  async #priceOf(name: string, thinking: string | undefined): Promise<CallPrice | undefined> {
    const { offline, providers, detect } = this.#options;
    const wanted = name === AUTO ? await detect() : name;
    if (wanted === "offline") return offline.price?.({ model: wanted });
    const model = await providers.model(wanted);
    if (!model) return undefined;
    const { contextWindow, maxTokens, cost } = model;
    const thinks = thinking !== undefined && thinking !== "off";
    return { contextWindow, maxTokens, leastTokens: thinks ? MIN_WITH_THINKING : MIN_TOKENS, cost };
  }

  /** The models to try, in order. One that failed a moment ago waits behind the others, and is not left out if alone. */
  #candidates({ model, fallbacks = [] }: ModelRequest): readonly string[] {
    const all = [...new Set([model, ...fallbacks])];
    const now = this.#clock.monotonic();
    const rested = all.filter((name) => (this.#restUntil.get(name) ?? 0) <= now);
    return rested.length > 0 ? rested : all;
  }

  #judge(name: string, first: boolean, { error }: ModelResult, request: ModelRequest): "done" | "next" {
    switch (error?.class) {
      case undefined:
        this.#restUntil.delete(name);
        return "done";
      case "auth":
      case "rate":
        return "next";
      case "transient":
        // The loop waits and asks again; only when it would give up is the next model's turn.
        if ((request.tries ?? MODEL_TRIES.transient) < MODEL_TRIES.transient) return "done";
        this.#restUntil.set(name, this.#clock.monotonic() + REST_MS);
        return "next";
      case "request":
        return first ? "done" : "next";
      case "overflow":
      case "aborted":
        return "done";
    }
  }

  async #ask(
    name: string,
    first: boolean,
    request: ModelRequest,
    signal: AbortSignal,
    forwarder: EventForwarder,
  ): Promise<ModelResult> {
    const { offline, providers, apiFor, detect } = this.#options;
    try {
      const wanted = name === AUTO ? await detect() : name;
      if (wanted === "offline") return await offline.call(request, signal, forwarder.say);
      const model = await providers.model(wanted);
      const provider = providers.provider(splitModelName(wanted)?.provider ?? "");
      if (!model || !provider) return failure(wanted, { class: "request", message: unknownModel(wanted) });
      const api = await apiFor(model);
      if (!api) return failure(wanted, { class: "request", message: unknownApi(model) });
      const thinking = thinkingFor(model, request.thinking, first);
      return await this.#askWithKeys({ model, provider, api, thinking, request, signal, forwarder });
    } catch (error) {
      return failure(name, { class: "request", message: errorText(error) });
    }
  }

  async #askWithKeys(asking: Asking): Promise<ModelResult> {
    const { model, provider, request, signal } = asking;
    const usable = provider.keys.usable(model.id, wantedProfile(provider, request.authProfile, this.#options.log));
    const nothingSet = usable.keys.length + usable.missing.length + usable.refused.length === 0;
    if (nothingSet && usable.waitMs === undefined) {
      return provider.keyless
        ? await this.#askOnce(asking, undefined)
        : failure(modelName(model), noKey(provider.name));
    }
    let last: ProviderResult | undefined;
    for (const key of usable.keys) {
      if (BORROWED_KEY.test(key.value)) {
        provider.keys.refused(key);
        last = failure(modelName(model), borrowedKey(provider.name, key));
        continue;
      }
      last = await this.#askOnce(asking, key);
      if (last.error?.class === "rate") provider.keys.limited(key, last.error.retryAfterMs);
      else if (last.error?.class === "auth") provider.keys.refused(key, last.status === 403 ? model.id : undefined);
      else {
        if (!last.error) provider.keys.worked(key);
        return last;
      }
      this.#options.log.warn("a key could not be used", {
        provider: provider.name,
        profile: key.profile,
        class: last.error.class,
      });
      if (signal.aborted) return last;
    }
    const after = provider.keys.usable(model.id, wantedProfile(provider, request.authProfile));
    if (after.waitMs !== undefined) {
      const { message } = last?.error ?? { message: `Every key of ${provider.name} has reached its limit.` };
      const error: ModelError = { class: "rate", message, retryAfterMs: Math.ceil(after.waitMs) };
      return { ...(last ?? failure(modelName(model), error)), error };
    }
    const error = refusedKeys(provider.name, after, last?.error?.message);
    return { ...(last ?? failure(modelName(model), error)), error };
  }

  async #askOnce(
    { model, provider, api, thinking, request, signal, forwarder }: Asking,
    key: Key | undefined,
  ): Promise<ProviderResult> {
    const free = await provider.slots.take(signal);
    if (!free) return failure(modelName(model), { class: "aborted", message: "aborted" });
    try {
      forwarder.begin();
      return await api(this.#options.deps, {
        model: limited(model, request.maxTokens),
        request,
        key: key?.value,
        stallMs: provider.stallMs,
        signal,
        onEvent: forwarder.say,
        ...(thinking === undefined ? {} : { thinking }),
      });
    } finally {
      free();
    }
  }
}

/** An answer's limit is the model's own, unless the call says less; both adaptors fit thinking into it. */
const limited = (model: ProviderModel, maxTokens = model.maxTokens): ProviderModel =>
  maxTokens < model.maxTokens ? { ...model, maxTokens } : model;

const dearer = (one: CallPrice, other: CallPrice): CallPrice => ({
  contextWindow: Math.max(one.contextWindow, other.contextWindow),
  maxTokens: Math.max(one.maxTokens, other.maxTokens),
  leastTokens: Math.max(one.leastTokens, other.leastTokens),
  cost: {
    input: Math.max(one.cost.input, other.cost.input),
    output: Math.max(one.cost.output, other.cost.output),
    cacheRead: Math.max(one.cost.cacheRead, other.cost.cacheRead),
    cacheWrite: Math.max(one.cost.cacheWrite, other.cost.cacheWrite),
  },
});

/** What those that broke off had used is part of what the call has cost. */
function withUsageOf(failures: readonly ModelResult[], result: ModelResult): ModelResult {
  const alsoUsed = failures.flatMap(({ usage }) => usage ?? []);
  return alsoUsed.length === 0 ? result : { ...result, alsoUsed };
}

interface Asking {
  readonly model: ProviderModel;
  readonly provider: Provider;
  readonly api: ProviderApi;
  readonly thinking: ThinkingLevel | undefined;
  readonly request: ModelRequest;
  readonly signal: AbortSignal;
  readonly forwarder: EventForwarder;
}

/** Passes events on, and says `restart` before a try that follows one of which something was heard. */
interface EventForwarder {
  begin(): void;
  say(event: ModelEvent): void;
}

function eventForwarder(onEvent: (event: ModelEvent) => void, heardBefore: boolean): EventForwarder {
  let heard = heardBefore;
  const begin = (): void => {
    if (heard) onEvent({ type: "restart" });
    heard = false;
  };
  return {
    begin,
    say(event) {
      heard = true;
      onEvent(event);
    },
  };
}

/** Strict for the model that was asked for; a stand-in does what it can. */
function thinkingFor(model: ProviderModel, wanted: string | undefined, first: boolean): ThinkingLevel | undefined {
  if (wanted === undefined) return undefined;
  return first ? checkThinking(modelName(model), model.thinking, wanted) : nearestThinking(model.thinking, wanted);
}

/** `provider:profile` counts for its provider only. A profile that is not there is passed over, with a word. */
function wantedProfile(
  provider: Provider,
  wanted: ModelRequest["authProfile"],
  log?: Log,
): { name: string; only: boolean } | undefined {
  if (!wanted) return undefined;
  const at = wanted.name.indexOf(":");
  if (at !== -1 && wanted.name.slice(0, at) !== provider.name) return undefined;
  const name = wanted.name.slice(at + 1);
  if (provider.keys.has(name)) return { name, only: wanted.only };
  log?.warn("an auth profile is not known and is passed over", { provider: provider.name, profile: name });
  return undefined;
}

/** What to tell when nobody could answer: whatever waiting may mend first, the shorter wait before the longer. */
function worthiest(failures: readonly ModelResult[]): ModelResult {
  const rank = ({ error }: ModelResult): number =>
    error?.class === "rate" || error?.class === "transient" ? (error.retryAfterMs ?? 0) : Number.POSITIVE_INFINITY;
  const [first, ...rest] = failures;
  if (!first) return failure("", { class: "request", message: "No model was named." });
  const best = rest.reduce((one, other) => (rank(other) < rank(one) ? other : one), first);
  if (!best.error || failures.length === 1) return best;
  const others = failures.filter((one) => one !== best).flatMap(({ error }) => (error ? [error.message] : []));
  return { ...best, error: { ...best.error, message: [best.error.message, ...others].join(" Also: ") } };
}

function failure(name: string, error: ModelError): ProviderResult {
  const { provider, id } = splitModelName(name) ?? { provider: "", id: name };
  const stopReason = error.class === "aborted" ? "aborted" : "error";
  return { content: [], stopReason, api: "", provider, model: id, error };
}

const unknownModel = (name: string): string =>
  `The model ${name} is not known. \`rookery models\` lists those there are; models.providers in the configuration adds more.`;

const unknownApi = ({ provider, api }: ProviderModel): string =>
  `The API "${api}" of ${provider} is not known. Known are openai-completions, openai-responses, anthropic-messages and google-generative-ai.`;

const noKey = (provider: string): ModelError => ({
  class: "auth",
  message: `There is no key for ${provider}. ${remedy(provider)}`,
});

const borrowedKey = (provider: string, { where }: Key): ModelError => ({
  class: "auth",
  message: `${capital(where)} is a subscription token of another program, not an API key. ${remedy(provider)}`,
});

function refusedKeys(
  provider: string,
  { missing, refused }: { readonly missing: readonly string[]; readonly refused: readonly string[] },
  said: string | undefined,
): ModelError {
  const parts = [
    ...(refused.length > 0 ? [`${provider} refused ${refused.join(", ")}.`] : []),
    ...(missing.length > 0 ? [`${capital(missing.join(", "))} is not set or empty.`] : []),
    ...(said ? [said] : []),
  ];
  return {
    class: "auth",
    message: `${parts.join(" ")} It is not asked again until the key is another. ${remedy(provider)}`,
  };
}

const remedy = (provider: string): string =>
  `Set one with \`rookery auth set ${provider}\`, or in models.providers.${provider}.apiKey.`;

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
