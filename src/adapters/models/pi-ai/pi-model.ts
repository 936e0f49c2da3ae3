/** A model as the library wants it described: from its own catalogue where it is known there, else from what we know. */
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
    compat: withoutOwnWays(described.compat),
  };
}

/** A level that is not possible is marked so; the highest must be named to be sent. */
function levelMap({ thinking }: ProviderModel): ThinkingLevelMap {
  const map: ThinkingLevelMap = { max: null };
  for (const level of THINKING_LEVELS) {
    if (!thinking.includes(level)) map[level] = null;
    else if (level === "xhigh") map.xhigh = "xhigh";
  }
  return map;
}

/** What a server that speaks the protocol and is not its inventor is spared. */
function plainServer(baseUrl: string): Model<"openai-completions">["compat"] {
  if (/\b(?:openai\.com|openrouter\.ai)\b/.test(baseUrl)) return undefined;
  return { supportsStore: false, supportsDeveloperRole: false, maxTokensField: "max_tokens" };
}

/**
 * Takes off what would let the provider answer with another model (the router's decision), and ways of changing tools
 * within a conversation that put a placeholder with the library's name among the tools.
 */
function withoutOwnWays(compat: object | undefined): Model<Api>["compat"] {
  if (!compat) return undefined;
  const { allowedFallbackModels: _, supportsMidConvoToolChanges: __, ...rest } = compat as Record<string, unknown>;
  return rest as Model<Api>["compat"];
}
