/** The texts of failed model calls: what is wrong, then what to do. */

import type { ModelError, ModelResult } from "../../core/ports/model.ts";
import { refusedKeyHelp, refusedKeyText } from "../../core/refused-key.ts";
import { sentence } from "../../core/sentence.ts";
import type { Usable } from "./key-rotation.ts";
import type { ProviderResult } from "./provider-call.ts";
import { type ProviderModel, splitModelName } from "./provider-model.ts";

export function failure(name: string, error: ModelError): ProviderResult {
  const { provider, id } = splitModelName(name) ?? { provider: "", id: name };
  const stopReason = error.class === "aborted" ? "aborted" : "error";
  return { content: [], stopReason, api: "", provider, model: id, error };
}

/** The failure to report if no model answered: one that a wait may fix, the shortest wait first; its text names them all. */
export function reportedFailure(failures: readonly ModelResult[]): ModelResult {
  const [first, ...rest] = failures;
  if (!first) return failure("", { class: "request", message: "No model is named in this call." });
  const best = rest.reduce((one, other) => (waitOf(other) < waitOf(one) ? other : one), first);
  if (!best.error || failures.length === 1) return best;
  const others = failures.filter((one) => one !== best).flatMap(({ error }) => (error ? [error.message] : []));
  return { ...best, error: { ...best.error, message: [best.error.message, ...others].join(" Also: ") } };
}

const waitOf = ({ error }: ModelResult): number =>
  error?.class === "rate" || error?.class === "transient" ? (error.retryAfterMs ?? 0) : Number.POSITIVE_INFINITY;

export const unknownModel = (name: string): ModelError => ({
  class: "request",
  message: `Unknown model "${name}". \`rookery models\` lists the known ones; models.providers in the configuration adds more.`,
});

export const unknownApi = ({ provider, api }: ProviderModel): ModelError => ({
  class: "request",
  message: `Unknown API "${api}" of ${provider}. The known APIs are openai-completions, openai-responses, anthropic-messages and google-generative-ai.`,
});

export const noKey = (provider: string): ModelError => ({
  class: "auth",
  message: `There is no key for ${provider}. ${howToSetKey(provider)}`,
});

export const limitReached = (provider: string, waitMs: number, message?: string): ModelError => ({
  class: "rate",
  message: message ?? `Every key of ${provider} has reached its limit.`,
  retryAfterMs: Math.ceil(waitMs),
});

export function keysRejected(
  provider: string,
  { missing, foreign, refused }: Pick<Usable, "missing" | "foreign" | "refused">,
  { now, answer }: { readonly now: number; readonly answer: string | undefined },
): ModelError {
  const [first] = refused;
  const parts = [
    ...refused.map((key) => refusedKeyText(key, now)),
    ...foreign.map((where) => `${capitalized(where)} is a subscription token of another program, not an API key.`),
    ...(missing.length > 0 ? [`${capitalized(missing.join(", "))} is not set or empty.`] : []),
    ...(answer ? [sentence(answer)] : []),
    first ? refusedKeyHelp(first) : howToSetKey(provider),
  ];
  return { class: "auth", message: parts.join(" ") };
}

const howToSetKey = (provider: string): string =>
  `Set one with \`rookery models keys add ${provider}\`, or in models.providers.${provider}.apiKey.`;

const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
