/** The library's data on the models of large providers: context windows, prices, thinking levels. Loaded per provider. */
import type { ProviderModel } from "./provider-model.ts";
import { THINKING_LEVELS, type ThinkingLevel } from "./thinking.ts";

/** The part of the library's description that we read. The whole object goes back to the library unchanged. */
interface Described {
  readonly id: string;
  readonly api: string;
  readonly baseUrl: string;
  readonly reasoning: boolean;
  readonly thinkingLevelMap?: Readonly<Record<string, string | null | undefined>>;
  readonly input: readonly string[];
  readonly cost: ProviderModel["cost"];
  readonly contextWindow: number;
  readonly maxTokens: number;
}

type Models = Readonly<Record<string, Described>>;

const LOADERS: Readonly<Record<string, () => Promise<Models>>> = {
  anthropic: async () => (await import("@earendil-works/pi-ai/providers/anthropic.models")).ANTHROPIC_MODELS as Models,
  openai: async () => (await import("@earendil-works/pi-ai/providers/openai.models")).OPENAI_MODELS as Models,
  google: async () => (await import("@earendil-works/pi-ai/providers/google.models")).GOOGLE_MODELS as Models,
  openrouter: async () =>
    (await import("@earendil-works/pi-ai/providers/openrouter.models")).OPENROUTER_MODELS as Models,
  xai: async () => (await import("@earendil-works/pi-ai/providers/xai.models")).XAI_MODELS as Models,
  "kimi-coding": async () =>
    (await import("@earendil-works/pi-ai/providers/kimi-coding.models")).KIMI_CODING_MODELS as Models,
  meta: async () => (await import("@earendil-works/pi-ai/providers/meta.models")).META_MODELS as Models,
  "openai-codex": async () =>
    (await import("@earendil-works/pi-ai/providers/openai-codex.models")).OPENAI_CODEX_MODELS as Models,
  radius: async () =>
    (await import("@earendil-works/pi-ai/providers/radius.models")).RADIUS_MODELS as unknown as Models,
};

/** All models of a provider; empty if the catalogue does not have it. */
export async function catalogueOf(provider: string): Promise<readonly ProviderModel[]> {
  const models = await load(provider);
  return Object.values(models).map((described) => providerModel(provider, described));
}

export async function inCatalogue(provider: string, id: string): Promise<ProviderModel | undefined> {
  const models = await load(provider);
  // The catalogue shortens this one name.
  const key = provider === "openrouter" && id === "openrouter/auto" ? "auto" : id;
  const described = Object.hasOwn(models, key) ? models[key] : undefined;
  return described && providerModel(provider, { ...described, id });
}

async function load(provider: string): Promise<Models> {
  return Object.hasOwn(LOADERS, provider) ? ((await LOADERS[provider]?.()) ?? {}) : {};
}

function providerModel(provider: string, described: Described): ProviderModel {
  const { id, api, baseUrl, contextWindow, maxTokens, cost, input } = described;
  return {
    provider,
    id,
    api,
    baseUrl,
    contextWindow,
    maxTokens,
    cost: { input: cost.input, output: cost.output, cacheRead: cost.cacheRead, cacheWrite: cost.cacheWrite },
    thinking: levelsOf(described),
    images: input.includes("image"),
    catalogue: described,
  };
}

/** A level that maps to null is not supported; `xhigh` only if it is named. */
function levelsOf({ reasoning, thinkingLevelMap = {} }: Described): readonly ThinkingLevel[] {
  if (!reasoning) return ["off"];
  return THINKING_LEVELS.filter((level) =>
    level === "xhigh" ? typeof thinkingLevelMap.xhigh === "string" : thinkingLevelMap[level] !== null,
  );
}
