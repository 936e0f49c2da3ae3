/** Describes a model for the library: from its own catalogue if the model is in it, otherwise from our data. */
import type { Api, Model, ThinkingLevelMap } from "@earendil-works/pi-ai";
import type { ProviderModel } from "../provider-model.ts";
import { THINKING_LEVELS } from "../thinking.ts";

export function piModel(model: ProviderModel): Model<Api> {
  const { provider, id, api, baseUrl, contextWindow, maxTokens } = model;
  const described = (model.catalogue as Model<Api> | undefined) ?? {
    name: id,
    reasoning: model.thinking.some((level) => level !== "off"),
    thinkingLevelMap: levelMap(model),
    compat: plainServer(baseUrl),
  };
  return {
    ...described,
    provider,
    id,
    api,
    baseUrl,
    contextWindow,
    maxTokens,
    cost: { ...model.cost },
    input: model.images ? ["text", "image"] : ["text"],
    compat: withoutLibraryFeatures(described.compat),
  };
}

/** Marks unsupported levels. The library sends `xhigh` only if it is named. */
function levelMap({ thinking }: ProviderModel): ThinkingLevelMap {
  const map: ThinkingLevelMap = { max: null };
  for (const level of THINKING_LEVELS) {
    if (!thinking.includes(level)) map[level] = null;
    else if (level === "xhigh") map.xhigh = "xhigh";
  }
  return map;
}

/** Turns off what only the protocol's inventor supports. */
function plainServer(baseUrl: string): Model<"openai-completions">["compat"] {
  if (/\b(?:openai\.com|openrouter\.ai)\b/.test(baseUrl)) return undefined;
  return { supportsStore: false, supportsDeveloperRole: false, maxTokensField: "max_tokens" };
}

/**
 * Removes settings that let the provider answer with another model (the router decides that), and tool changes within a
 * conversation, which add a placeholder tool with the library's name.
 */
function withoutLibraryFeatures(compat: object | undefined): Model<Api>["compat"] {
  if (!compat) return undefined;
  const { allowedFallbackModels: _, supportsMidConvoToolChanges: __, ...rest } = compat as Record<string, unknown>;
  return rest as Model<Api>["compat"];
}
