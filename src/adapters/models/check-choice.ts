/**
 * Checks settings of models where they are set: provider, model, thinking level and auth profile. A wrong one is refused with the
 * closest one that exists, so that it does not fail at the next call. Calls no model.
 */
import type { Config } from "../../config/config-schema.ts";
import { KNOWN_PROVIDERS } from "../../config/known-providers.ts";
import { unknownName } from "../../core/known-name.ts";
import { catalogueOf } from "./catalogue.ts";
import { AUTO, chooseModel } from "./choose-model.ts";
import { knowsModel } from "./knows-model.ts";
import type { OpenModels } from "./open-models.ts";
import { modelName, splitModelName } from "./provider-model.ts";

interface Choice {
  /** The program provides the model, and knows what it can do: only names are checked. */
  readonly onlyNames?: boolean;
  readonly profile: string;
  /** The state with the new settings in it. */
  readonly state: Readonly<Record<string, unknown>>;
  /** False: the level was set before. A model that does not support it uses a lower one. */
  readonly setsThinking: boolean;
}

type Models = Pick<OpenModels, "providers" | "detect">;
type ChoiceConfig = Pick<Config, "models" | "profiles">;

/** The fields that are checked. */
export const CHOICE_FIELDS = [
  ...["providerOverride", "modelOverride", "thinkingLevel", "authProfileOverride"],
] as const;

/** Why these settings cannot be used, in whole sentences; undefined if they can. */
export async function choiceProblem(config: ChoiceConfig, models: Models, choice: Choice): Promise<string | undefined> {
  const { profile, state } = choice;
  const provider = text(state.providerOverride);
  if (provider !== undefined && !models.providers.provider(provider)) {
    return unknownName("provider", provider, providerNames(config));
  }
  const { model: chosen, warnings } = chooseModel(config, profile, { ...state, thinkingLevel: undefined });
  if (warnings.length > 0) return unknownModel(config, models, wantedName(state));
  if (choice.onlyNames) return undefined;
  const model = chosen === AUTO ? (await models.detect()).model : chosen;
  return (
    (await modelProblem(config, models, model)) ??
    (choice.setsThinking ? await thinkingProblem(models, model, text(state.thinkingLevel)) : undefined) ??
    authProblem(models, model, text(state.authProfileOverride))
  );
}

/** Why this model cannot be used, by its full name. Of a provider with a catalogue, an id that is in neither is unknown. */
export async function modelProblem(config: ChoiceConfig, models: Models, name: string): Promise<string | undefined> {
  if (name === "offline") return undefined;
  if (!knowsModel(config.models, name)) return unknownModel(config, models, name);
  const { provider, id } = splitModelName(name) ?? { provider: "", id: "" };
  const own = Object.hasOwn(config.models.providers, provider) ? config.models.providers[provider] : undefined;
  if (own?.api !== undefined || own?.baseUrl !== undefined || own?.models.some((listed) => listed.id === id)) {
    return undefined;
  }
  const catalogue = await catalogueOf(provider);
  if (catalogue.length === 0 || (await models.providers.model(name))?.catalogue !== undefined) return undefined;
  const said = unknownName("model", name, catalogue.map(modelName));
  return `${said} If it is newer than this program, list it in models.providers.${provider}.models.`;
}

/** The levels that a model supports; undefined if that is not known. */
export async function thinkingLevelsOf(models: Models, name: string): Promise<readonly string[] | undefined> {
  const model = name === AUTO ? (await models.detect()).model : name;
  return model === "offline" ? undefined : (await models.providers.model(model))?.thinking;
}

export async function thinkingProblem(
  models: Models,
  name: string,
  level: string | undefined,
): Promise<string | undefined> {
  if (level === undefined) return undefined;
  const levels = await thinkingLevelsOf(models, name);
  if (levels === undefined || levels.includes(level)) return undefined;
  return `The model ${name} cannot think at the level "${level}". Possible are: ${levels.join(", ")}.`;
}

/** `provider:profile` counts only for its provider, so that of another one is not checked. */
export function authProblem({ providers }: Pick<Models, "providers">, name: string, wanted: string | undefined) {
  if (wanted === undefined) return undefined;
  const at = wanted.indexOf(":");
  const provider = at === -1 ? splitModelName(name)?.provider : wanted.slice(0, at);
  if (provider === undefined) return undefined;
  if (!providers.provider(provider)) return unknownName("provider", provider, Object.keys(KNOWN_PROVIDERS));
  const profiles = providers.keySources(provider).map(({ profile }) => profile);
  const profile = wanted.slice(at + 1);
  return profiles.includes(profile) ? undefined : unknownName(`auth profile of ${provider}`, profile, profiles);
}

async function unknownModel(config: ChoiceConfig, { providers }: Models, name: string): Promise<string> {
  const { provider } = splitModelName(name) ?? { provider: "" };
  if (provider !== "" && !providers.provider(provider)) {
    return `There is no model "${name}". ${unknownName("provider", provider, providerNames(config))}`;
  }
  const listed = Object.entries(config.models.providers).flatMap(([of, { models }]) =>
    models.map(({ id }) => `${of}/${id}`),
  );
  return unknownName("model", name, [...listed, ...(await catalogueOf(provider)).map(modelName), "offline"]);
}

function wantedName({ providerOverride, modelOverride }: Choice["state"]): string {
  const [provider, model] = [text(providerOverride), text(modelOverride)];
  if (model === undefined) return provider ?? "";
  return provider === undefined || model.startsWith(`${provider}/`) ? model : `${provider}/${model}`;
}

const providerNames = ({ models }: Pick<Config, "models">): readonly string[] => [
  ...Object.keys(models.providers),
  ...Object.keys(KNOWN_PROVIDERS),
];

const text = (value: unknown): string | undefined =>
  typeof value === "string" && value.trim() !== "" ? value.trim() : undefined;
