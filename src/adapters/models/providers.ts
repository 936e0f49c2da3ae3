/**
 * The known providers, configured and built in, each with its keys, its concurrency limit and its models. Secrets and
 * stored keys come in through `ProvidersDeps`.
 */
import type { Config } from "../../config/config-schema.ts";
import { knownProvider } from "../../config/known-providers.ts";
import type { Secret, SecretDeps } from "../../config/secret.ts";
import { modelDefaults, providerDefaults } from "../../config/sections/models.ts";
import { defined } from "../../core/defined.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { RefusedKey } from "../../core/refused-key.ts";
import { CLI_API } from "./api-for.ts";
import { inCatalogue } from "./catalogue.ts";
import type { CliSettings } from "./cli/cli-settings.ts";
import { ConcurrencyLimit } from "./concurrency-limit.ts";
import type { DetectedServer } from "./detect.ts";
import { DEFAULT_AUTH_PROFILE, KeyRotation, type KeySource } from "./key-rotation.ts";
import { knowsModel } from "./knows-model.ts";
import type { LoginsByProvider } from "./logins/login-file.ts";
import type { LoginProblem, Logins } from "./logins/logins.ts";
import { OllamaModels } from "./ollama/ollama-show.ts";
import { type ProviderModel, splitModelName } from "./provider-model.ts";

type ProviderConfig = Config["models"]["providers"][string];
type ModelConfig = ProviderConfig["models"][number];

export interface Provider {
  readonly name: string;
  readonly keys: KeyRotation;
  /** It may be called without a key. */
  readonly keyless: boolean;
  readonly concurrency: ConcurrencyLimit;
  readonly stallMs: number;
  /** Refreshes tokens that soon expire. Resolves with what went wrong. Absent: there are no logins. */
  refreshLogins?(): Promise<readonly LoginProblem[]>;
  /** The provider refused the token of a login before its time. True if there is another one now. */
  replaceToken?(profile: string, refused: string): Promise<boolean>;
}

/** Keys set with `rookery models keys`: by provider, then by profile. Called each time, so a change takes effect at once. */
type StoredKeys = () => Readonly<Record<string, Readonly<Record<string, string>>>>;

interface ProvidersDeps {
  readonly clock: Clock;
  readonly secrets: SecretDeps;
  readonly storedKeys: StoredKeys;
  readonly logins?: Logins;
  /** Default: the global one. */
  readonly fetch?: typeof fetch;
}

export class Providers {
  readonly #config: Config["models"];
  readonly #deps: ProvidersDeps;
  readonly #known = new Map<string, Provider>();
  readonly #ollama: OllamaModels;
  readonly #learned = new Map<string, DetectedServer>();

  constructor(config: Config["models"], deps: ProvidersDeps) {
    this.#config = config;
    this.#deps = deps;
    this.#ollama = new OllamaModels({
      fetch: (input, init) => (deps.fetch ?? fetch)(input, init),
      monotonic: () => deps.clock.monotonic(),
    });
  }

  /** Remembers a detected server and what it reported about its model. */
  learn(server: DetectedServer): void {
    this.#learned.set(server.provider, server);
  }

  get logins(): LoginsByProvider {
    return this.#deps.logins?.all() ?? {};
  }

  /** Undefined for an unknown name. The same object each time: it holds the state of keys and concurrency. */
  provider(name: string): Provider | undefined {
    const made = this.#known.get(name);
    if (made) return made;
    const config = this.#configOf(name);
    if (!config && !knownProvider(name)) return undefined;
    const { logins } = this.#deps;
    const provider: Provider = {
      name,
      keys: new KeyRotation(name, this.#deps.clock, () => this.keySources(name)),
      keyless: config?.baseUrl !== undefined || config?.cli !== undefined || knownProvider(name)?.keyless === true,
      concurrency: new ConcurrencyLimit(config?.maxConcurrent ?? providerDefaults.maxConcurrent),
      stallMs: (config?.stallSeconds ?? providerDefaults.stallSeconds) * 1000,
      refreshLogins: logins && (() => logins.refresh(name)),
      replaceToken: logins && ((profile, refused) => logins.replace(name, profile, refused)),
    };
    this.#known.set(name, provider);
    return provider;
  }

  /** The keys that providers refused, of every provider that was called. */
  refusedKeys(): readonly RefusedKey[] {
    return [...this.#known.values()].flatMap(({ keys }) => keys.refusals());
  }

  /** The next call tries every refused key. */
  endPauses(): void {
    for (const { keys } of this.#known.values()) keys.endPauses();
  }

  /** The keys in the order of use: from the configuration, stored ones, tokens of logins. The environment's only if there is no other. */
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
        where: `the key set with \`rookery models keys add ${name}\``,
        reveal: () => value,
      })),
      ...this.#loginSources(name),
    ];
    if (sources.length > 0) return sources;
    const { env } = this.#deps.secrets;
    const variable = knownProvider(name)?.env.find((candidate) => env[candidate]);
    if (!variable) return [];
    const where = `the environment variable ${variable}`;
    return [{ profile: DEFAULT_AUTH_PROFILE, where, reveal: () => env[variable] }];
  }

  /** A token that has expired is not used: the router asks for a new one first. */
  #loginSources(name: string): readonly KeySource[] {
    const { clock, logins } = this.#deps;
    return Object.entries(logins?.of(name) ?? {}).map(([profile, { credential, auth, ended }]) => ({
      profile,
      where: `the login made with \`rookery models login ${name}\``,
      reveal: () => (ended || credential.expires <= clock.now() ? undefined : (auth.apiKey ?? credential.access)),
      login: { headers: auth.headers, baseUrl: auth.baseUrl },
    }));
  }

  #fromSecret(profile: string, secret: Secret): KeySource {
    return {
      profile,
      where: secret.describe(),
      reveal: () => {
        try {
          return secret.reveal(this.#deps.secrets);
        } catch {
          // A missing key is skipped. The error names it if no key is left.
          return undefined;
        }
      },
    };
  }

  /** A model by name with its properties. Undefined if the provider is unknown or does not list the model. */
  async model(name: string): Promise<ProviderModel | undefined> {
    const parts = splitModelName(name);
    if (!parts || !knowsModel(this.#config, name)) return undefined;
    const { provider, id } = parts;
    const known = knownProvider(provider);
    const config = this.#configOf(provider);
    const listed = config?.models.find((model) => model.id === id);
    const api = apiNamed(config?.api ?? known?.api);
    const baseUrl = config?.baseUrl ?? known?.baseUrl;
    if (config?.cli && api === CLI_API) return cliModel(provider, id, config.cli, listed);
    if (api === undefined || baseUrl === undefined) return undefined;
    const catalogued = config?.api === undefined ? await inCatalogue(provider, id) : undefined;
    if (catalogued) return { ...catalogued, ...defined({ baseUrl: config?.baseUrl, ...configured(listed) }) };
    const shown = api === "ollama" ? await this.#ollama.show(baseUrl, id) : undefined;
    return {
      provider,
      id,
      api,
      baseUrl,
      contextWindow:
        (shown && listed?.contextWindow === modelDefaults.contextWindow ? undefined : listed?.contextWindow) ??
        shown?.contextWindow ??
        this.#learned.get(provider)?.contextWindow ??
        known?.contextWindow ??
        modelDefaults.contextWindow,
      maxTokens: listed?.maxTokens ?? modelDefaults.maxTokens,
      cost: listed?.cost ?? modelDefaults.cost,
      thinking: listed?.thinking ?? shown?.thinking ?? ["off"],
      images: listed?.images ?? shown?.images ?? false,
      tools: shown?.tools,
    };
  }

  #configOf(name: string): ProviderConfig | undefined {
    return Object.hasOwn(this.#config.providers, name) ? this.#config.providers[name] : undefined;
  }
}

/** A program on this machine. What its calls cost is not known here. */
const cliModel = (provider: string, id: string, cli: CliSettings, listed: ModelConfig | undefined): ProviderModel => ({
  ...{ provider, id, cli, api: CLI_API, baseUrl: "", thinking: ["off"], images: false, tools: false },
  contextWindow: listed?.contextWindow ?? modelDefaults.contextWindow,
  maxTokens: listed?.maxTokens ?? modelDefaults.maxTokens,
  cost: listed?.cost ?? modelDefaults.cost,
});

const SHORT_API_NAMES: Readonly<Record<string, string>> = {
  anthropic: "anthropic-messages",
  openai: "openai-responses",
  google: "google-generative-ai",
};

const apiNamed = (name: string | undefined): string | undefined =>
  name !== undefined && Object.hasOwn(SHORT_API_NAMES, name) ? SHORT_API_NAMES[name] : name;

/** What the configuration says beyond its defaults. For a model in the catalogue, defaults do not count. */
function configured(listed: ModelConfig | undefined): Partial<ProviderModel> {
  if (!listed) return {};
  const priced = Object.values(listed.cost).some((price) => price > 0);
  return {
    contextWindow: listed.contextWindow === modelDefaults.contextWindow ? undefined : listed.contextWindow,
    maxTokens: listed.maxTokens === modelDefaults.maxTokens ? undefined : listed.maxTokens,
    cost: priced ? listed.cost : undefined,
    thinking: listed.thinking,
    images: listed.images,
  };
}
