/**
 * The engine's model port. Within one call it picks the provider and the key, and the next model if they fail. It never
 * waits, and never sends the same request to the same model with the same key twice: waiting and retrying is the run loop's job, and
 * `tries` in the request says how far the loop is.
 */

import { errorText } from "../../core/errors.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { Log } from "../../core/ports/log.ts";
import {
  type CallPrice,
  MODEL_TRIES,
  type Model,
  type ModelChoice,
  type ModelEvent,
  type ModelRequest,
  type ModelResult,
} from "../../core/ports/model.ts";
import { askWithKeys, type EventForwarder } from "./ask-with-keys.ts";
import { AUTO } from "./choose-model.ts";
import type { CallDeps, ProviderApi } from "./provider-call.ts";
import { type ProviderModel, splitModelName } from "./provider-model.ts";
import type { Provider } from "./providers.ts";
import { failure, reportedFailure, unknownApi, unknownModel } from "./router-errors.ts";
import { nearestThinking } from "./thinking.ts";
import { withUsageOf } from "./used-before.ts";

interface RouterOptions {
  readonly deps: CallDeps;
  readonly log: Log;
  readonly providers: {
    provider(name: string): Provider | undefined;
    model(name: string): Promise<ProviderModel | undefined>;
  };
  /** The adaptor for a model's API, loaded on first use; undefined if there is none. */
  readonly apiFor: (model: ProviderModel) => Promise<ProviderApi | undefined>;
  /** The name of a model if none is configured: one that was found, or `offline`. */
  readonly detect: () => Promise<string>;
  readonly offline: Model;
}

/** How long a model is skipped after its last try failed, if there is another model. */
const COOLDOWN_MS = 60_000;
/** The smallest useful limits of an answer. Thinking uses its part first. */
const MIN_TOKENS = 256;
const MIN_WITH_THINKING = 4_096;

export class ModelRouter implements Model {
  readonly #options: RouterOptions;
  readonly #clock: Clock;
  readonly #cooldownUntil = new Map<string, number>();

  constructor(options: RouterOptions) {
    this.#options = options;
    this.#clock = options.deps.clock;
  }

  async call(request: ModelRequest, signal: AbortSignal, onEvent: (event: ModelEvent) => void): Promise<ModelResult> {
    const forwarder = eventForwarder(onEvent, (request.tries ?? 1) > 1);
    const failures: ModelResult[] = [];
    for (const name of this.#candidates(request)) {
      const first = name === request.model;
      const result = await this.#ask(name, request, signal, forwarder);
      if (this.#judge(name, first, result, request) === "done") return withUsageOf(failures, result);
      failures.push(result);
      this.#options.log.warn("a model failed, trying the next one", { model: name, class: result.error?.class });
    }
    const best = reportedFailure(failures);
    return withUsageOf(
      failures.filter(({ usage, alsoUsed }) => usage !== best.usage || alsoUsed !== best.alsoUsed),
      best,
    );
  }

  /** The highest price of the models that may answer: it is not known before which one will. */
  async price({ model, fallbacks = [], thinking }: ModelChoice): Promise<CallPrice | undefined> {
    const prices: CallPrice[] = [];
    for (const name of new Set([model, ...fallbacks])) {
      const price = await this.#priceOf(name, thinking).catch(() => undefined);
      if (price) prices.push(price);
    }
    return prices.length === 0 ? undefined : prices.reduce(higherPrice);
  }

  async #priceOf(name: string, thinking: string | undefined): Promise<CallPrice | undefined> {
    const { offline, providers, detect } = this.#options;
    const wanted = name === AUTO ? await detect() : name;
    if (wanted === "offline") return offline.price?.({ model: wanted });
    const model = await providers.model(wanted);
    if (!model) return undefined;
    const { contextWindow, maxTokens, cost } = model;
    const thinks = thinking !== undefined && nearestThinking(model.thinking, thinking) !== "off";
    return { contextWindow, maxTokens, leastTokens: thinks ? MIN_WITH_THINKING : MIN_TOKENS, cost };
  }

  /** The models to try, in order; those in their cooldown last. */
  #candidates({ model, fallbacks = [] }: ModelRequest): readonly string[] {
    const all = [...new Set([model, ...fallbacks])];
    const now = this.#clock.monotonic();
    const rests = (name: string): boolean => (this.#cooldownUntil.get(name) ?? 0) > now;
    return [...all.filter((name) => !rests(name)), ...all.filter(rests)];
  }

  #judge(name: string, first: boolean, { error }: ModelResult, request: ModelRequest): "done" | "next" {
    switch (error?.class) {
      case undefined:
        this.#cooldownUntil.delete(name);
        return "done";
      case "auth":
      case "rate":
        return "next";
      case "transient":
        // The run loop waits and retries. The next model is tried when the loop would give up.
        if ((request.tries ?? MODEL_TRIES.transient) < MODEL_TRIES.transient) return "done";
        this.#cooldownUntil.set(name, this.#clock.monotonic() + COOLDOWN_MS);
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
    request: ModelRequest,
    signal: AbortSignal,
    forwarder: EventForwarder,
  ): Promise<ModelResult> {
    const { offline, providers, apiFor, detect } = this.#options;
    try {
      const wanted = name === AUTO ? await detect() : name;
      if (wanted === "offline") return await offline.call(request, signal, forwarder.forward);
      const model = await providers.model(wanted);
      const provider = providers.provider(splitModelName(wanted)?.provider ?? "");
      if (!model || !provider) return failure(wanted, unknownModel(wanted));
      const api = await apiFor(model);
      if (!api) return failure(wanted, unknownApi(model));
      const thinking = request.thinking === undefined ? undefined : nearestThinking(model.thinking, request.thinking);
      const { deps, log } = this.#options;
      return await askWithKeys({ deps, log, model, provider, api, thinking, request, signal, forwarder });
    } catch (error) {
      return failure(name, { class: "request", message: errorText(error) });
    }
  }
}

const higherPrice = (one: CallPrice, other: CallPrice): CallPrice => ({
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

function eventForwarder(onEvent: (event: ModelEvent) => void, sentBefore: boolean): EventForwarder {
  let hasSent = sentBefore;
  return {
    startTry() {
      if (hasSent) onEvent({ type: "restart" });
      hasSent = false;
    },
    forward(event) {
      hasSent = true;
      onEvent(event);
    },
  };
}
