/** How large an agent's context may be: the settings that hold for its model, and that model's window. */
import type { Config } from "../../config/config-schema.ts";
import type { AgentRecord } from "../../core/agent/agent.ts";
import { type ContextLimits, DEFAULT_CONTEXT_WINDOW } from "../../core/history/compaction-settings.ts";
import type { RunOverrides } from "../../core/message/run-overrides.ts";
import { AUTO } from "./choose-model.ts";
import type { OpenModels } from "./open-models.ts";

type Models = Pick<OpenModels, "choose" | "detect"> & {
  readonly providers: { model(name: string): Promise<{ readonly contextWindow: number } | undefined> };
};

/** What is known of a model is looked up once, and anew when the configuration has changed. */
export function contextLimitsOf(config: Pick<Config, "compaction">, models: Models) {
  let known = new Map<string, ContextLimits>();
  let [compaction, providers] = [config.compaction, models.providers];
  return async (agent: AgentRecord, wishes?: RunOverrides): Promise<ContextLimits> => {
    if (compaction !== config.compaction || providers !== models.providers) {
      known = new Map();
      [compaction, providers] = [config.compaction, models.providers];
    }
    const { model: chosen } = models.choose(agent, wishes);
    const found = known.get(chosen);
    if (found) return found;
    const { byModel, ...general } = compaction;
    const of = known;
    const model = chosen === AUTO ? (await models.detect()).model : chosen;
    const contextWindow = (await providers.model(model))?.contextWindow ?? DEFAULT_CONTEXT_WINDOW;
    const limits = { ...general, ...stated(byModel[model]), contextWindow };
    // What is found by itself may be another model the next time.
    if (chosen !== AUTO) of.set(chosen, limits);
    return limits;
  };
}

const stated = (own: Config["compaction"]["byModel"][string] = {}): Partial<ContextLimits> =>
  Object.fromEntries(Object.entries(own).filter(([, value]) => value !== undefined));
