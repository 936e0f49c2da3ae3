/** What agents need to have children on this node: the settings of the configuration. */
import { join } from "node:path";
import { chooseModel } from "../../adapters/models/choose-model.ts";
import type { Config } from "../../config/config-schema.ts";
import type { HomePaths } from "../../config/paths.ts";
import { type SubagentSettings, subagentSettings } from "../../engine/subagents/settings.ts";

export function subagentSettingsOf(config: Config, paths: Pick<HomePaths, "home">): SubagentSettings {
  return subagentSettings(config, {
    checkModel: (model, profile) =>
      chooseModel(config, profile, { modelOverride: model }).warnings.length > 0
        ? `invalid model: ${model}`
        : undefined,
    transcriptOf: (agentId) => join(paths.home, "agents", agentId, "history.jsonl"),
  });
}
