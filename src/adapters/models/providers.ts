/**
 * The providers there are, from the configuration and from what needs no configuration, each with its keys, its slots
 * and its models. Asks the world for nothing by itself: secrets and stored keys come through what it is given.
 */
import type { Config } from "../../config/config-schema.ts";
import { KNOWN_PROVIDERS, knownProvider } from "../../config/known-providers.ts";
import type { Secret, SecretDeps } from "../../config/secret.ts";
import { modelDefaults, providerDefaults } from "../../config/sections/models.ts";
import type { Clock } from "../../core/ports/clock.ts";
import { inCatalogue } from "./catalogue.ts";
import type { DetectedServer } from "./detect.ts";
import { KeyRing, type KeySource } from "./key-ring.ts";
import { type ProviderModel, splitModelName } from "./provider-model.ts";
import { Slots } from "./slots.ts";

type ProviderConfig = Config["models"]["providers"][string];
type ModelConfig = ProviderConfig["models"][number];

export interface Provider {
  readonly name: string;
  readonly keys: KeyRing;
  /** Whether it is called without a key where there is none. */
  readonly keyless: boolean;
  readonly slots: Slots;
  readonly stallMs: number;
}

/** Keys set with `rookery auth`: by provider, then by profile. Read anew each time, so that a change is seen. */
export type StoredKeys = () => Readonly<Record<string, Readonly<Record<string, string>>>>;

export interface ProvidersDeps {
  readonly clock: Clock;
  readonly secrets: SecretDeps;
  readonly storedKeys: StoredKeys;
}

export const DEFAULT_AUTH_PROFILE = "default";

export class Providers {
  readonly #config: Config["models"];
  readonly #deps: ProvidersDeps;
  readonly #known = new Map<string, Provider>();
  readonly #learned = new Map<string, DetectedServer>();

  constructor(config: Config["models"], deps: ProvidersDeps) {
    this.#config = config;
    this.#deps = deps;
  }

  /** Remembers a server that was found, for what it said of itself. */
  learn(server: DetectedServer): void {
    this.#learned.set(server.provider, server);
  }

  /** Undefined for a name nobody described. The same object each time: keys and slots are remembered in it. */
  provider(name: string): Provider | undefined {
    const made = this.#known.get(name);
    if (made) return made;
    const config = this.#configOf(name);
    if (!config && !knownProvider(name)) return undefined;
    const provider: Provider = {
      name,
      keys: new KeyRing(this.#deps.clock, () => this.keySources(name)),
      keyless: config?.baseUrl !== undefined || knownProvider(name)?.keyless === true,
      slots: new Slots(config?.maxConcurrent ?? providerDefaults.maxConcurrent),
      stallMs: (config?.stallSeconds ?? providerDefaults.stallSeconds) * 1000,
    };
    this.#known.set(name, provider);
    return provider;
  }

  /** The keys in the order they are used: the configuration's, then stored ones; the environment's only where both have none. */
  keySources(name: string): readonly KeySource[] {
    const config = this.#configOf(name);
    const secrets: readonly (readonly [string, Secret])[] = [
      ...(config?.apiKey ? [[DEFAULT_AUTH_PROFILE, config.apiKey] as const] : []),
      ...Object.entries(config?.apiKeys ?? {}),
    ];
    const stored = this.#deps.storedKeys();
    const own = Object.hasOwn(stored, name) ? (stored[name] ?? {}) : {};
    const sources: KeySource[] = [
      ...secrets.map(([profile, secret]) => this.#fromSecret(profile, secret)),
      ...Object.entries(own).map(([profile, value]) => ({
        profile,
        where: `the key set with \`rookery auth set ${name}\``,
        reveal: () => value,
      })),
    ];
    if (sources.length > 0) return sources;
    const { env } = this.#deps.secrets;
    const variable = knownProvider(name)?.env.find((candidate) => env[candidate]);
    if (!variable) return [];
    const where = `the environment variable ${variable}`;
    return [{ profile: DEFAULT_AUTH_PROFILE, where, reveal: () => env[variable] }];
  }

  #fromSecret(profile: string, secret: Secret): KeySource {
    return {
      profile,
      where: secret.describe(),
      reveal: () => {
        try {
          return secret.reveal(this.#deps.secrets);
        } catch {
          // A key that is not there is one key less, and is named where none is left.
          return undefined;
        }
      },
    };
  }

  /** A model by its name, with all that is known of it. Undefined where the provider, or the model in its list, is unknown. */
  async model(name: string): Promise<ProviderModel | undefined> {
    const parts = splitModelName(name);
    if (!parts || !knowsModel(this.#config, name)) return undefined;
    const { provider, id } = parts;
    const known = knownProvider(provider);
    const config = this.#configOf(provider);
    const listed = config?.models.find((model) => model.id === id);
    const api = apiNamed(config?.api ?? known?.api);
    const baseUrl = config?.baseUrl ?? known?.baseUrl;
    if (api === undefined || baseUrl === undefined) return undefined;
    const catalogued = config?.api === undefined ? await inCatalogue(provider, id) : undefined;
    if (catalogued) {
      return { ...catalogued, ...(config?.baseUrl === undefined ? {} : { baseUrl }), ...stated(listed) };
    }
    return {
      provider,
      id,
      api,
      baseUrl,
      contextWindow:
        listed?.contextWindow ??
        this.#learned.get(provider)?.contextWindow ??
        known?.contextWindow ??
        modelDefaults.contextWindow,
      maxTokens: listed?.maxTokens ?? modelDefaults.maxTokens,
      cost: listed?.cost ?? modelDefaults.cost,
      thinking: listed?.thinking ?? ["off"],
      images: listed?.images ?? false,
    };
  }

  #configOf(name: string): ProviderConfig | undefined {
    return Object.hasOwn(this.#config.providers, name) ? this.#config.providers[name] : undefined;
  }
}

/** Short names of APIs. */
const SHORT: Readonly<Record<string, string>> = {
  anthropic: "anthropic-messages",
  openai: "openai-responses",
  google: "google-generative-ai",
};

const apiNamed = (name: string | undefined): string | undefined =>
  name !== undefined && Object.hasOwn(SHORT, name) ? SHORT[name] : name;

/** What the configuration says beyond its defaults: where the catalogue knows a model, a default gives way to it. */
function stated(listed: ModelConfig | undefined): Partial<ProviderModel> {
  if (!listed) return {};
  const priced = Object.values(listed.cost).some((price) => price > 0);
  return {
    ...(listed.contextWindow === modelDefaults.contextWindow ? {} : { contextWindow: listed.contextWindow }),
    ...(listed.maxTokens === modelDefaults.maxTokens ? {} : { maxTokens: listed.maxTokens }),
    ...(priced ? { cost: listed.cost } : {}),
    ...(listed.thinking ? { thinking: listed.thinking } : {}),
    ...(listed.images === undefined ? {} : { images: listed.images }),
  };
}

/** Whether a name can be meant: its provider is described or known, and lists it if it lists any. */
export function knowsModel(config: Config["models"], name: string): boolean {
  if (name === "offline") return true;
  const parts = splitModelName(name);
  if (!parts) return false;
  const provider = Object.hasOwn(config.providers, parts.provider) ? config.providers[parts.provider] : undefined;
  if (!provider) return Object.hasOwn(KNOWN_PROVIDERS, parts.provider);
  return provider.models.length === 0 || provider.models.some((model) => model.id === parts.id);
}
