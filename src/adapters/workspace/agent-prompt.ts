/** Builds the system prompt of an agent from its profile, its tools, the files of its workspace and the agents it can reach. */
import type { Config } from "../../config/config-schema.ts";
import type { AgentRecord } from "../../core/agent/agent.ts";
import type { SwarmRecord } from "../../core/agent/swarm.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { ToolHost } from "../../core/ports/tool.ts";
import type { PermanentAgents } from "../../engine/agents/permanent-agents.ts";
import type { SystemAgent } from "../../engine/agents/system-agents.ts";
import { buildSystemPrompt, type SystemPrompt } from "../../engine/context/prompt/system-prompt.ts";
import { workspaceReaders } from "./read-workspace-file.ts";
import type { WorkspaceOf } from "./workspaces.ts";

export type PromptOf = (agent: AgentRecord) => Promise<SystemPrompt>;

export interface PromptDeps {
  readonly config: Pick<Config, "profiles">;
  readonly clock: Pick<Clock, "now">;
  readonly tools: ToolHost;
  readonly workspaceOf: WorkspaceOf;
  /** The permanent agents that every prompt lists. Default: none. */
  readonly permanentAgents?: PermanentAgents["list"];
  readonly systemAgents?: () => ReadonlyMap<string, SystemAgent>;
  /** Finds a swarm by its name. Default: none. */
  readonly swarmNamed?: (nametag: string) => Promise<SwarmRecord | undefined>;
}

export function agentPrompts(deps: PromptDeps): PromptOf {
  const { config, clock, tools, workspaceOf, permanentAgents, systemAgents, swarmNamed } = deps;
  const readerOf = workspaceReaders(() => clock.now());
  return async (agent) => {
    const { descriptor } = agent;
    const workspace = workspaceOf(agent);
    return buildSystemPrompt({
      descriptor,
      profilePrompt: config.profiles[agent.profile]?.prompt,
      tools: tools.list(agent),
      workspace,
      readFile: readerOf(workspace),
      permanentAgents: await permanentAgents?.(),
      systemAgent: descriptor.type === "system" ? systemAgents?.().get(descriptor.tag) : undefined,
      swarm: descriptor.type === "swarm" ? await swarmNamed?.(descriptor.id) : undefined,
      extraSystemPrompt: agent.state.extraSystemPrompt,
    });
  };
}
