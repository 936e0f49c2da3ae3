/** Puts together what agents work with and are told: the tools of each by kind and profile, its workspace, its prompt. */

import { type OwnerReader, worksForOwner } from "../../adapters/tools/agents/relations.ts";
import { currentTimeTool } from "../../adapters/tools/current-time.ts";
import type { Places } from "../../adapters/tools/files/allowed-path.ts";
import { fileTools } from "../../adapters/tools/files/file-tools.ts";
import { isOwnersOnly, ownersOnly } from "../../adapters/tools/owners-only.ts";
import { toolHost } from "../../adapters/tools/tool-host.ts";
import { guardedFilesOf } from "../../adapters/workspace/guarded-workspace-files.ts";
import { workspaceReaders } from "../../adapters/workspace/read-workspace-file.ts";
import { openWorkspaces } from "../../adapters/workspace/workspaces.ts";
import type { Config } from "../../config/config-schema.ts";
import type { HomePaths } from "../../config/paths.ts";
import type { AgentRecord } from "../../core/agent/agent.ts";
import { isOwner } from "../../core/agent/session-key.ts";
import type { SwarmRecord } from "../../core/agent/swarm.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { Tool, ToolHost } from "../../core/ports/tool.ts";
import type { PermanentAgents } from "../../engine/agents/permanent-agents.ts";
import type { SystemAgent } from "../../engine/agents/system-agents.ts";
import { buildSystemPrompt, type SystemPrompt } from "../../engine/context/prompt/system-prompt.ts";
import { zoneOf } from "./open-budgets.ts";

export interface Toolkit {
  readonly tools: ToolHost;
  promptOf(agent: AgentRecord): Promise<SystemPrompt>;
}

export interface ToolkitOptions {
  readonly config: Config;
  readonly paths: HomePaths;
  readonly clock: Clock;
  /** Tells for whom an agent works. */
  readonly store: OwnerReader;
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

export function createToolkit(options: ToolkitOptions): Toolkit {
  const {
    config,
    paths,
    clock,
    store,
    permanentAgents,
    systemAgents,
    swarmNamed,
    more = [],
    older = [],
    tools,
  } = options;
  const workspaceOf = openWorkspaces(config, paths);
  const readerOf = workspaceReaders(() => clock.now());
  const forOwner = (agent: AgentRecord) => worksForOwner(store, config.owner, agent);
  const placesOf = async (agent: AgentRecord): Promise<Places> => {
    const { readDirs, writeDirs } = agent.state.permissions ?? {};
    const guarded = (await forOwner(agent)) ? undefined : guardedFilesOf(config, paths, workspaceOf);
    return { workingDir: workspaceOf(agent), readDirs, writeDirs, guarded };
  };
  const all = [currentTimeTool(clock, () => zoneOf(config)), ...fileTools(placesOf), ...more];
  const made = toolHost({
    tools: ownersOnly(all, forOwner),
    older: ownersOnly(older, forOwner),
    nesting: config.subagents.maxDepth > 1,
    policyOf: (profile) => config.profiles[profile]?.tools,
  });
  // A tool that would be denied is not shown to another person's agent; whoever calls it by name is told why.
  const ownTools: ToolHost = {
    list: (agent) =>
      isGuest(agent, config) ? made.list(agent).filter((tool) => !isOwnersOnly(tool)) : made.list(agent),
    find: made.find,
  };
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

/** A conversation with somebody else than the owner, or with several. */
function isGuest({ descriptor }: AgentRecord, { owner }: Config): boolean {
  if (descriptor.type !== "user") return false;
  return (descriptor.peerKind ?? "dm") !== "dm" || !isOwner(descriptor, owner.accounts);
}
