/** Puts together what agents work with and are told: the tools of each by kind and profile, its workspace, its prompt. */
import { buildSystemPrompt, type SystemPrompt } from "../agents/prompt/system-prompt.ts";
import type { SystemAgent } from "../agents/system-agents.ts";
import type { Config } from "../config/config-schema.ts";
import type { HomePaths } from "../config/paths.ts";
import type { AgentRecord } from "../core/agent.ts";
import type { Clock } from "../core/clock.ts";
import type { SwarmRecord } from "../core/swarm.ts";
import type { Tool, ToolHost } from "../core/tool.ts";
import { currentTimeTool } from "../tools/current-time.ts";
import { fileTools } from "../tools/files/file-tools.ts";
import { toolHost } from "../tools/tool-host.ts";
import { zoneOf } from "./open-budgets.ts";
import type { PermanentAgents } from "./permanent-agents.ts";
import { workspaceReaders } from "./read-workspace-file.ts";
import { openWorkspaces } from "./workspaces.ts";

export interface Hands {
  readonly tools: ToolHost;
  promptOf(agent: AgentRecord): Promise<SystemPrompt>;
}

export interface HandsOptions {
  readonly config: Config;
  readonly paths: HomePaths;
  readonly clock: Clock;
  /** Those every prompt lists. Default: none. */
  readonly permanentAgents?: PermanentAgents["list"];
  readonly systemAgents?: ReadonlyMap<string, SystemAgent>;
  /** A swarm by its name. Default: none. */
  readonly swarmNamed?: (nametag: string) => Promise<SwarmRecord | undefined>;
  /** Tools beside the ones made here. */
  readonly more?: readonly Tool[];
  /** Under names that are still understood, but not told to models. */
  readonly older?: readonly Tool[];
  /** Instead of the ones made here. */
  readonly tools?: ToolHost;
}

export function openHands(options: HandsOptions): Hands {
  const { config, paths, clock, permanentAgents, systemAgents, swarmNamed, more = [], older, tools } = options;
  const workspaceOf = openWorkspaces(config, paths);
  const readerOf = workspaceReaders(() => clock.now());
  const ownTools = toolHost({
    tools: [
      currentTimeTool(clock, () => zoneOf(config)),
      ...fileTools((agent) => {
        const { readDirs, writeDirs } = agent.state.permissions ?? {};
        return { workingDir: workspaceOf(agent), readDirs, writeDirs };
      }),
      ...more,
    ],
    older,
    nesting: config.subagents.maxDepth > 1,
    policyOf: (profile) => config.profiles[profile]?.tools,
  });
  const host = tools ?? ownTools;
  return {
    tools: host,
    async promptOf(agent) {
      const { descriptor } = agent;
      const workspace = workspaceOf(agent);
      return buildSystemPrompt({
        descriptor,
        profilePrompt: config.profiles[agent.profile]?.prompt,
        tools: host.list(agent),
        workspace,
        readFile: readerOf(workspace),
        permanentAgents: await permanentAgents?.(),
        ...(descriptor.type === "system" ? { systemAgent: systemAgents?.get(descriptor.tag) } : {}),
        ...(descriptor.type === "swarm" ? { swarm: await swarmNamed?.(descriptor.id) } : {}),
        extraSystemPrompt: agent.state.extraSystemPrompt,
      });
    },
  };
}
