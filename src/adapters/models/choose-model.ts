/**
 * Chooses an agent's model: its own overrides, then its profile, then the configuration. Pure. An invalid override is
 * ignored with a warning, so that a removed model does not silence an agent.
 */
import type { Config } from "../../config/config-schema.ts";
import { knownProvider } from "../../config/known-providers.ts";
import type { ModelChoice } from "../../core/ports/model.ts";
import { knowsModel } from "./knows-model.ts";
import { splitModelName } from "./provider-model.ts";
import { isThinkingLevel } from "./thinking.ts";

/** The name of the model if none is configured: the router detects one. */
export const AUTO = "auto";

interface Chosen extends ModelChoice {
  readonly warnings: readonly string[];
}

export function chooseModel(
  config: Pick<Config, "models" | "profiles">,
  profileName: string,
  state: Readonly<Record<string, unknown>>,
): Chosen {
  const profile = Object.hasOwn(config.profiles, profileName) ? config.profiles[profileName] : undefined;
  const warnings: string[] = [];
  const configured = profile?.model ?? config.models.default ?? firstListed(config.models) ?? AUTO;
  const wanted = overrideIn(config.models, state, configured);
  const known = wanted !== undefined && knowsModel(config.models, wanted);
  if (wanted !== undefined && !known) {
    warnings.push(`This agent's model "${wanted}" is unknown; using ${configured} instead.`);
  }
  const model = wanted !== undefined && known ? wanted : configured;
  const thinking = thinkingIn(state, warnings) ?? profile?.thinking ?? config.models.thinking;
  const authProfile =
    authProfileIn(state) ?? (profile?.authProfile ? { name: profile.authProfile, only: false } : undefined);
  const fallbacks = (profile?.fallbacks ?? config.models.fallbacks).filter((name) => name !== model);
  return {
    model,
    fallbacks: fallbacks.length > 0 ? fallbacks : undefined,
    authProfile,
    thinking,
    warnings,
  };
}

/** `modelOverride` may contain the provider. Otherwise `providerOverride` names it, or the configured provider stays. */
function overrideIn(
  models: Config["models"],
  state: Readonly<Record<string, unknown>>,
  configured: string,
): string | undefined {
  const provider = text(state.providerOverride);
  const model = text(state.modelOverride) ?? (provider && firstOf(models, provider));
  if (model === undefined) return provider;
  if (provider !== undefined) return model.startsWith(`${provider}/`) ? model : `${provider}/${model}`;
  if (model.includes("/") || model === "offline") return model;
  const own = splitModelName(configured)?.provider;
  return own === undefined ? model : `${own}/${model}`;
}

function thinkingIn(state: Readonly<Record<string, unknown>>, warnings: string[]): string | undefined {
  const level = text(state.thinkingLevel);
  if (level === undefined || isThinkingLevel(level)) return level;
  warnings.push(`This agent's thinking level "${level}" is unknown and ignored.`);
  return undefined;
}

/**
 * If a person chose a key, only that key is used. An automatic choice holds until the agent's next compaction: then the
 * provider's cache is worthless, and the keys are tried in their order again.
 */
function authProfileIn(state: Readonly<Record<string, unknown>>): ModelChoice["authProfile"] {
  const name = text(state.authProfileOverride);
  if (name === undefined) return undefined;
  if (state.authProfileOverrideSource !== "auto") return { name, only: true };
  const madeAt = count(state.authProfileOverrideCompactionCount);
  return count(state.compactionCount) > madeAt ? undefined : { name, only: false };
}

/** The model for a provider without a model name: the first one it lists, or its default. */
function firstOf({ providers }: Config["models"], name: string): string | undefined {
  const listed = Object.hasOwn(providers, name) ? providers[name]?.models[0]?.id : undefined;
  return listed ?? knownProvider(name)?.model;
}

function firstListed({ providers }: Config["models"]): string | undefined {
  for (const [name, { models }] of Object.entries(providers)) if (models[0]) return `${name}/${models[0].id}`;
  return undefined;
}

const text = (value: unknown): string | undefined =>
  typeof value === "string" && value.trim() !== "" ? value.trim() : undefined;
const count = (value: unknown): number => (typeof value === "number" ? value : 0);
