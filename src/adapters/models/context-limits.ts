/** The size limits of an agent's context: the settings for its model, and that model's context window. */
import type { Config } from "../../config/config-schema.ts";
import type { AgentRecord } from "../../core/agent/agent.ts";
import { defined } from "../../core/defined.ts";
import { type ContextLimits, DEFAULT_CONTEXT_WINDOW } from "../../core/history/compaction-settings.ts";
import type { RunOverrides } from "../../core/message/run-overrides.ts";
import type { ModelChoice } from "../../core/ports/model.ts";
import { AUTO } from "./choose-model.ts";
import type { Detected } from "./detect.ts";
import type { OpenModels } from "./open-models.ts";

type Models = Pick<OpenModels, "choose" | "detect"> & {
  readonly providers: { model(name: string): Promise<{ readonly contextWindow: number } | undefined> };
};

/** The limits of a model are resolved once, and again after the configuration or the detected model has changed. */
export function contextLimitsOf(config: Pick<Config, "compaction">, models: Models) {
  let { compaction } = config;
  let { providers } = models;
  let byName = new Map<string, ContextLimits>();
  let byDetection = new WeakMap<Detected, ContextLimits>();
  return async (agent: AgentRecord, overrides?: RunOverrides, choice?: ModelChoice): Promise<ContextLimits> => {
    const { model: chosen } = choice ?? models.choose(agent, overrides);
    const detected = chosen === AUTO ? await models.detect() : undefined;
    if (compaction !== config.compaction || providers !== models.providers) {
      ({ compaction } = config);
      ({ providers } = models);
      byName = new Map();
      byDetection = new WeakMap();
    }
    const resolved = detected ? byDetection.get(detected) : byName.get(chosen);
    if (resolved) return resolved;
    const [names, detections] = [byName, byDetection];
    const { byModel, ...general } = compaction;
    const model = detected?.model ?? chosen;
    const contextWindow = (await providers.model(model))?.contextWindow ?? DEFAULT_CONTEXT_WINDOW;
    const limits = { ...general, ...defined(byModel[model] ?? {}), contextWindow };
    if (detected) detections.set(detected, limits);
    else names.set(chosen, limits);
    return limits;
  };
}
