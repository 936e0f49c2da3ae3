/** What agents need to have children on this node: the settings of the configuration. */
import { join } from "node:path";
import { type SubagentSettings, subagentSettings } from "../agents/subagents/settings.ts";
import type { Config } from "../config/config-schema.ts";
import type { HomePaths } from "../config/paths.ts";
import { chooseModel } from "../models/choose-model.ts";

export function subagentSettingsOf(config: Config, paths: Pick<HomePaths, "home">): SubagentSettings {
  return subagentSettings(config, {
    checkModel: (model, profile) =>
      chooseModel(config, profile, { modelOverride: model }).warnings.length > 0
        ? `invalid model: ${model}`
        : undefined,
    transcriptOf: (agentId) => join(paths.home, "agents", agentId, "history.jsonl"),
  });
}
