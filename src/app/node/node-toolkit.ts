/** The toolkit of a running node. Loaded with the first run. */

import { agentToolDepsOf } from "../../adapters/tools/agents/agent-tool-deps.ts";
import { agentTools, olderAgentTools } from "../../adapters/tools/agents/agent-tools.ts";
import type { KeepsChanges } from "../../adapters/tools/files/file-changes.ts";
import type { FileMarks } from "../../adapters/tools/files/file-marks.ts";
import type { PromptGuard } from "../../adapters/tools/files/prompt-guard.ts";
import { storedFiles } from "../../adapters/tools/files/stored-files.ts";
import { messageTools } from "../../adapters/tools/messages/message-tools.ts";
import { cronTaskTools } from "../../adapters/tools/schedules/cron-task-tools.ts";
import { cronTool } from "../../adapters/tools/schedules/cron-tool.ts";
import { heartbeatTools } from "../../adapters/tools/schedules/heartbeat-tools.ts";
import { subagentTools } from "../../adapters/tools/subagents/subagent-tools.ts";
import { profileWorkspaces, workspaceMaker } from "../../adapters/workspace/workspaces.ts";
import type { HomePaths } from "../../config/paths.ts";
import type { Settings } from "../../config/settings.ts";
import type { Current } from "../../core/current.ts";
import type { RunId } from "../../core/ids.ts";
import type { Ports } from "../../core/ports/ports.ts";
import type { Tool, ToolHost } from "../../core/ports/tool.ts";
import type { SearchIndex } from "../../core/search/search-index.ts";
import type { AgentSystem } from "../../engine/agents/agent-system.ts";
import { permanentAgentsOf } from "../../engine/agents/permanent-agents.ts";
import type { Triggers } from "../../engine/triggers/triggers.ts";
import { commandTools } from "./command-tools.ts";
import { createToolkit, type Toolkit } from "./create-toolkit.ts";
import { nodeMcp } from "./node-mcp.ts";
import { nodeWebTools } from "./node-web-tools.ts";
import { permanentDirectories } from "./permanent-directories.ts";

interface NodeToolkitParts {
  readonly settings: Current<Settings>;
  readonly paths: HomePaths;
  readonly ports: Pick<Ports, "store" | "clock" | "ids" | "files" | "log" | "connectors">;
  readonly system: AgentSystem;
  readonly triggers: Pick<Triggers, "cron" | "heartbeat">;
  readonly marks?: FileMarks;
  readonly changes?: KeepsChanges;
  readonly guard?: PromptGuard;
  readonly tools?: ToolHost;
  readonly nodeName?: string;
  readonly search?: SearchIndex;
  /** The environment that holds keys. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Tools in addition to those of the node. */
  readonly moreTools?: readonly Tool[];
}

/** The toolkit of a running node, with the tools that reach other agents, start subagents and make schedules. */
export function createNodeToolkit(parts: NodeToolkitParts): Toolkit {
  const { settings, paths, ports, triggers, tools, moreTools = [] } = parts;
  const { store: ownShard } = settings.current;
  const { store, clock } = ports;
  const system = () => parts.system;
  const deps = agentToolDepsOf({
    ...ports,
    settings,
    system,
    workspaceFor: workspaceMaker(settings, paths, parts.guard),
    shards: { name: ownShard.shard, others: Object.keys(ownShard.shards) },
  });
  const schedules = [
    cronTool(triggers.cron),
    ...cronTaskTools(triggers.cron),
    ...heartbeatTools(triggers.heartbeat),
  ] as readonly Tool[];
  return createToolkit({
    settings,
    paths,
    clock,
    store,
    directory: parts.system.directory,
    marks: parts.marks,
    changes: parts.changes,
    guard: parts.guard,
    stored: parts.system.files && storedFiles(store, parts.system.files),
    tools,
    permanentAgents: permanentAgentsOf(store, clock).list,
    swarmNamed: store.swarm,
    more: [
      ...messageTools({
        personOf: async (account) => (await parts.system.directory.recent()).personOf(account),
        answeredBy: async (runId) => (await store.run(runId as RunId))?.body.replyToId,
        has: (channel) => parts.ports.connectors.has(channel),
        now: () => clock.now(),
      }),
      ...agentTools(deps),
      ...subagentTools(system, ports),
      ...schedules,
      ...moreTools,
    ],
    older: olderAgentTools(deps),
    memory: { index: parts.search, store },
    mcp: tools
      ? undefined
      : nodeMcp({
          ...{ settings, paths, ports, guard: parts.guard, env: parts.env ?? process.env },
          permanents: () => permanentDirectories(ports.store, profileWorkspaces(settings.current, paths)),
        }),
    web: nodeWebTools({ settings, paths, clock, env: parts.env ?? process.env }),
    commands: tools
      ? undefined
      : (files) =>
          commandTools({
            ...{ ...files, settings, paths, ports, events: parts.system.events, env: parts.env ?? process.env },
            nodeName: parts.nodeName ?? "",
            post: (request) => parts.system.post(request),
            async people(ids) {
              const now = await parts.system.directory.now();
              return ids.map((id) => now.standing(id).person);
            },
          }),
  });
}
