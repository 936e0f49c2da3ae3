/** Puts together what agents work with and are told: the tools of each by kind and profile, its workspace, its prompt. */
import { buildSystemPrompt, type SystemPrompt } from "../agents/prompt/system-prompt.ts";
import type { Config } from "../config/config-schema.ts";
import type { HomePaths } from "../config/paths.ts";
import type { AgentRecord } from "../core/agent.ts";
import type { Clock } from "../core/clock.ts";
import type { Store } from "../core/store.ts";
import type { ToolHost } from "../core/tool.ts";
import { currentTimeTool } from "../tools/current-time.ts";
import { fileTools } from "../tools/files/file-tools.ts";
import { toolHost } from "../tools/tool-host.ts";
import { KnownAgents } from "./known-agents.ts";
import { workspaceReader } from "./read-workspace-file.ts";
import { openWorkspaces } from "./workspaces.ts";

export interface Hands {
  readonly tools: ToolHost;
  /** The store to work with: tools must know whom they work for. */
  readonly store: Store;
  promptOf(agent: AgentRecord): SystemPrompt;
}

export interface HandsOptions {
  readonly config: Config;
  readonly paths: HomePaths;
  readonly clock: Clock;
  readonly store: Store;
  /** Instead of the ones made here. */
  readonly tools?: ToolHost;
}

export function openHands({ config, paths, clock, store, tools }: HandsOptions): Hands {
  const known = new KnownAgents();
  const workspaceOf = openWorkspaces(config, paths);
  const zone = config.session.timeZone ?? Intl.DateTimeFormat().resolvedOptions().timeZone;
  const ownTools = toolHost({
    tools: [
      currentTimeTool(clock, zone),
      ...fileTools((agentId) => {
        const agent = known.get(agentId);
        if (!agent) return { workingDir: paths.workspace };
        const { readDirs, writeDirs } = agent.permissions ?? {};
        return { workingDir: workspaceOf(agent), readDirs, writeDirs };
      }),
    ],
    userOf: (agentId) => {
      const agent = known.get(agentId);
      return agent && { profile: agent.profile, kind: agent.descriptor.type };
    },
    policyOf: (profile) => config.profiles[profile]?.tools,
  });
  const host = tools ?? ownTools;
  return {
    tools: host,
    store: known.reading(store),
    promptOf(agent) {
      known.remember(agent);
      const workspace = workspaceOf(agent);
      return buildSystemPrompt({
        descriptor: agent.descriptor,
        profilePrompt: config.profiles[agent.profile]?.prompt,
        tools: host.list(agent.id),
        workspace,
        readFile: workspaceReader(workspace),
        extraSystemPrompt: agent.state.extraSystemPrompt,
      });
    },
  };
}
