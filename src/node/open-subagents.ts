/** What agents need to have children on this node: the settings of the configuration, and the tools. */
import { join } from "node:path";
import type { AgentSystem } from "../agents/agent-system.ts";
import { type SubagentSettings, subagentSettings } from "../agents/subagents/settings.ts";
import { createSessionsSpawnTool, startBackgroundAgentTool } from "../agents/subagents/spawn-tools.ts";
import { subagentsTool } from "../agents/subagents/subagents-tool.ts";
import type { Config } from "../config/config-schema.ts";
import type { HomePaths } from "../config/paths.ts";
import type { Ports } from "../core/ports.ts";
import type { Tool } from "../core/tool.ts";
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

/** `system`: asked for when a tool is called, for it is made after its tools. */
export function subagentTools(system: () => AgentSystem, ports: Pick<Ports, "store" | "clock">): readonly Tool[] {
  const subagents = () => system().subagents;
  return [
    createSessionsSpawnTool(subagents),
    startBackgroundAgentTool(subagents),
    subagentsTool(subagents, ports),
  ] as Tool[];
}
