/** The size limits of an agent's context: the settings for its model, and that model's context window. */
import type { Config } from "../../config/config-schema.ts";
import type { AgentRecord } from "../../core/agent/agent.ts";
import { type ContextLimits, DEFAULT_CONTEXT_WINDOW } from "../../core/history/compaction-settings.ts";
import type { RunOverrides } from "../../core/message/run-overrides.ts";
import type { ModelChoice } from "../../core/ports/model.ts";
import { AUTO } from "./choose-model.ts";
import type { Detected } from "./detect.ts";
import type { OpenModels } from "./open-models.ts";

type Models = Pick<OpenModels, "choose" | "detect"> & {
  readonly providers: {
    model(name: string): Promise<{ readonly contextWindow: number; readonly api?: string } | undefined>;
  };
};

/** The window of a model is resolved once, and again after the providers or the detected model have changed. */
export function contextLimitsOf(models: Models) {
  let { providers } = models;
  let byName = new Map<string, number>();
  let byDetection = new WeakMap<Detected, number>();
  return async (
    agent: AgentRecord,
    overrides: RunOverrides | undefined,
    choice: ModelChoice | undefined,
    config: Pick<Config, "compaction" | "models" | "profiles">,
  ): Promise<ContextLimits> => {
    const { model: chosen } = choice ?? models.choose(agent, overrides, config);
    const detected = chosen === AUTO ? await models.detect() : undefined;
    if (providers !== models.providers) {
      ({ providers } = models);
      byName = new Map();
      byDetection = new WeakMap();
    }
    const [names, detections] = [byName, byDetection];
    const model = detected?.model ?? chosen;
    let contextWindow = detected ? detections.get(detected) : names.get(chosen);
    if (contextWindow === undefined) {
      const found = await providers.model(model);
      contextWindow = found?.contextWindow ?? DEFAULT_CONTEXT_WINDOW;
      // Providers keep what Ollama says, and ask again if it was not there.
      if (found?.api === "ollama") byName.delete(chosen);
      else if (detected) detections.set(detected, contextWindow);
      else names.set(chosen, contextWindow);
    }
    return { ...config.compaction, contextWindow };
  };
}
