/**
 * Calls one model with the keys of its provider, one after the other, each at most once. Tokens of logins are refreshed first; one
 * that is refused before its time is replaced once.
 */
import type { Log } from "../../core/ports/log.ts";
import type { ModelError, ModelEvent, ModelRequest, ModelResult } from "../../core/ports/model.ts";
import { isRefused, takesDocuments, withoutDocuments } from "./documents.ts";
import type { Key } from "./key-rotation.ts";
import type { LoginProblem } from "./logins/logins.ts";
import type { CallDeps, ProviderApi, ProviderResult } from "./provider-call.ts";
import { modelName, type ProviderModel } from "./provider-model.ts";
import type { Provider } from "./providers.ts";
import { failure, keysRejected, limitReached, noKey } from "./router-errors.ts";
import type { ThinkingLevel } from "./thinking.ts";
import { withUsageOf } from "./used-before.ts";

/** One model to call, with everything that is needed for it. */
interface Attempt {
  readonly deps: CallDeps;
  readonly log: Log;
  readonly model: ProviderModel;
  readonly provider: Provider;
  readonly api: ProviderApi;
  readonly thinking: ThinkingLevel | undefined;
  readonly request: ModelRequest;
  readonly signal: AbortSignal;
  readonly forwarder: EventForwarder;
}

/** Forwards the events of one call. Sends `restart` before a try if an earlier try has sent events. */
export interface EventForwarder {
  startTry(): void;
  forward(event: ModelEvent): void;
}

export async function askWithKeys(attempt: Attempt): Promise<ModelResult> {
  const { deps, model, provider, request, signal, log } = attempt;
  const problems = (await provider.refreshLogins?.()) ?? [];
  const preferred = preferredProfile(provider, request.authProfile, log);
  const usable = provider.keys.usable(model.id, preferred);
  const { keys, missing, foreign, refused } = usable;
  const noneConfigured = keys.length + missing.length + foreign.length + refused.length === 0;
  if (noneConfigured && usable.waitMs === undefined) {
    return provider.keyless ? await askOnce(attempt, undefined) : failure(modelName(model), noKey(provider.name));
  }
  const problem = problemOf(problems);
  if (keys.length === 0 && usable.waitMs === undefined && problem) return failure(modelName(model), problem);
  let last: ProviderResult | undefined;
  for (const key of keys) {
    const { result, used } = await askReplacing(attempt, key);
    last = withUsageOf(last ? [last] : [], result);
    if (last.error?.class === "rate") provider.keys.limited(used, last.error.retryAfterMs);
    else if (last.error?.class === "auth")
      provider.keys.refused(used, { model: model.id, status: last.status, onlyModel: last.status === 403 });
    else {
      if (!last.error) provider.keys.worked(used, model.id);
      return last;
    }
    log.warn("a key failed", { provider: provider.name, profile: key.profile, class: last.error.class });
    if (signal.aborted) return last;
  }
  const after = provider.keys.usable(model.id, preferredProfile(provider, request.authProfile));
  const error =
    after.waitMs === undefined
      ? keysRejected(provider.name, after, { now: deps.clock.now(), answer: last?.error?.message })
      : limitReached(provider.name, after.waitMs, last?.error?.message);
  return { ...(last ?? failure(modelName(model), error)), error };
}

/** A token may be revoked before it expires: then it is replaced, and the call is made once more with the new one. */
async function askReplacing(
  attempt: Attempt,
  key: Key,
): Promise<{ readonly result: ProviderResult; readonly used: Key }> {
  const { model, provider, signal } = attempt;
  const result = await askOnce(attempt, key);
  const first = { result, used: key };
  if (!key.login || result.status !== 401 || signal.aborted) return first;
  if (!(await provider.replaceToken?.(key.profile, key.value))) return first;
  const { keys } = provider.keys.usable(model.id, { name: key.profile, only: true });
  const replaced = keys.find(({ login, value }) => login !== undefined && value !== key.value);
  return replaced ? { result: withUsageOf([result], await askOnce(attempt, replaced)), used: replaced } : first;
}

/** If the provider refuses a request with documents, their text is sent instead. */
async function askOnce(attempt: Attempt, key: Key | undefined): Promise<ProviderResult> {
  const asText = { ...attempt, request: withoutDocuments(attempt.request) };
  if (!takesDocuments(attempt.model) || asText.request === attempt.request) return send(asText, key);
  const result = await send(attempt, key);
  if (!isRefused(result) || attempt.signal.aborted) return result;
  attempt.log.warn("a model refused a request with documents, sending their text", { model: attempt.model.id });
  return withUsageOf([result], await send(asText, key));
}

async function send(attempt: Attempt, key: Key | undefined): Promise<ProviderResult> {
  const { deps, model, provider, api, thinking, request, signal, forwarder } = attempt;
  const release = await provider.concurrency.acquire(signal);
  if (!release) return failure(modelName(model), { class: "aborted", message: "aborted" });
  try {
    forwarder.startTry();
    return await api(deps, {
      model: atAddress(limited(model, request.maxTokens), key?.login?.baseUrl),
      request,
      key: key?.value,
      headers: key?.login?.headers,
      stallMs: provider.stallMs,
      signal,
      onEvent: forwarder.forward,
      thinking,
    });
  } finally {
    release();
  }
}

/** Set if a login is in the way. If only a new login helps, that is the error; else a later try may work. */
function problemOf(problems: readonly LoginProblem[]): ModelError | undefined {
  const first = problems.find(({ again }) => !again) ?? problems[0];
  return first && { class: first.again ? "auth" : "transient", message: first.message };
}

/** The answer's limit is the model's own unless the request asks for less. Both adaptors fit thinking into it. */
const limited = (model: ProviderModel, maxTokens = model.maxTokens): ProviderModel =>
  maxTokens < model.maxTokens ? { ...model, maxTokens } : model;

const atAddress = (model: ProviderModel, baseUrl: string | undefined): ProviderModel =>
  baseUrl === undefined ? model : { ...model, baseUrl };

/** `provider:profile` counts only for its provider. An unknown profile is ignored and logged. */
function preferredProfile(
  provider: Provider,
  wanted: ModelRequest["authProfile"],
  log?: Log,
): { name: string; only: boolean } | undefined {
  if (!wanted) return undefined;
  const at = wanted.name.indexOf(":");
  if (at !== -1 && wanted.name.slice(0, at) !== provider.name) return undefined;
  const name = wanted.name.slice(at + 1);
  if (provider.keys.has(name)) return { name, only: wanted.only };
  log?.warn("ignoring an unknown auth profile", { provider: provider.name, profile: name });
  return undefined;
}
