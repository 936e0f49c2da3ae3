/** The output of `rookery models`: the known models, the one in use, and why. Calls no model. */
import type { Config } from "../../config/config-schema.ts";
import { KNOWN_PROVIDERS } from "../../config/known-providers.ts";
import { DEFAULT_PROFILE } from "../../core/agent/agent.ts";
import { catalogueOf } from "./catalogue.ts";
import { AUTO, chooseModel } from "./choose-model.ts";
import type { OpenModels } from "./open-models.ts";
import { modelName, type ProviderModel } from "./provider-model.ts";

interface DescribedProvider {
  readonly name: string;
  readonly keys: readonly { readonly profile: string; readonly where: string; readonly found: boolean }[];
  readonly models: readonly Omit<ProviderModel, "catalogue">[];
}

export interface DescribedModels {
  readonly using: {
    readonly model: string;
    readonly why: string;
    readonly fallbacks: readonly string[];
    readonly thinking?: string;
  };
  readonly providers: readonly DescribedProvider[];
}

/** With `only`: all models of that provider. Without: the configured and detected models of all providers. */
export async function describeModels(
  config: Pick<Config, "models" | "profiles">,
  models: Pick<OpenModels, "providers" | "detect">,
  only?: string,
): Promise<DescribedModels> {
  const choice = chooseModel(config, DEFAULT_PROFILE, {});
  const detected = choice.model === AUTO ? await models.detect() : undefined;
  const found = detected?.server;
  const configured = Object.keys(config.models.providers);
  const withKeys = Object.keys(KNOWN_PROVIDERS).filter((name) => models.providers.keySources(name).length > 0);
  const names = only ? [only] : [...new Set([...configured, ...withKeys, ...(found ? [found.provider] : [])])];
  const used = detected?.model ?? choice.model;
  return {
    using: {
      model: used,
      why: detected?.why ?? whyChosen(config, choice.model),
      fallbacks: choice.fallbacks ?? [],
      thinking: choice.thinking,
    },
    providers: await Promise.all(names.map((name) => describeProvider(name))),
  };

  async function describeProvider(name: string): Promise<DescribedProvider> {
    const listed = Object.hasOwn(config.models.providers, name) ? config.models.providers[name]?.models : undefined;
    const ids = listed?.length ? listed.map(({ id }) => id) : name === found?.provider ? found.models : [];
    const own = [...ids.map((id) => `${name}/${id}`), ...(used.startsWith(`${name}/`) ? [used] : [])];
    const known = await Promise.all([...new Set(own)].map((model) => models.providers.model(model)));
    const all = only ? await catalogueOf(name) : [];
    const seen = new Map([...all, ...known.filter((model) => model !== undefined)].map((one) => [modelName(one), one]));
    return {
      name,
      keys: models.providers.keySources(name).map(({ profile, where, reveal }) => ({
        profile,
        where,
        found: Boolean(reveal()),
      })),
      models: [...seen.values()].map(({ catalogue: _, ...model }) => model),
    };
  }
}

function whyChosen({ models, profiles }: Pick<Config, "models" | "profiles">, model: string): string {
  if (profiles[DEFAULT_PROFILE]?.model === model) return `profiles.${DEFAULT_PROFILE}.model says so`;
  if (models.default === model) return "models.default says so";
  return "it is the first model in the configuration";
}
