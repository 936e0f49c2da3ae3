/** Builds the toolkit of a node: the tools of each agent, and its system prompt. Loaded with the first run. */

import { homedir } from "node:os";
import { commandEnvironment } from "../../adapters/system/command-environment.ts";
import { agentToolDepsOf } from "../../adapters/tools/agents/agent-tool-deps.ts";
import { agentTools, olderAgentTools } from "../../adapters/tools/agents/agent-tools.ts";
import type { OwnerReader } from "../../adapters/tools/agents/relations.ts";
import { currentTimeTool } from "../../adapters/tools/current-time.ts";
import { realDisk } from "../../adapters/tools/files/disk.ts";
import type { KeepsChanges } from "../../adapters/tools/files/file-changes.ts";
import type { FileMarks } from "../../adapters/tools/files/file-marks.ts";
import { fileTools } from "../../adapters/tools/files/file-tools.ts";
import { noGuard, type PromptGuard } from "../../adapters/tools/files/prompt-guard.ts";
import { type StoredFiles, storedFiles } from "../../adapters/tools/files/stored-files.ts";
import type { MemoryDeps } from "../../adapters/tools/memory/memory-deps.ts";
import { memoryTools } from "../../adapters/tools/memory/memory-tools.ts";
import { messageTools } from "../../adapters/tools/messages/message-tools.ts";
import { cronTaskTools } from "../../adapters/tools/schedules/cron-task-tools.ts";
import { cronTool } from "../../adapters/tools/schedules/cron-tool.ts";
import { heartbeatTools } from "../../adapters/tools/schedules/heartbeat-tools.ts";
import { skillTool } from "../../adapters/tools/skills/skill-tool.ts";
import { subagentTools } from "../../adapters/tools/subagents/subagent-tools.ts";
import { type ChangingTools, toolHost } from "../../adapters/tools/tool-host.ts";
import { agentPlaces } from "../../adapters/workspace/agent-places.ts";
import { agentPrompts, type PromptDeps, type PromptOf } from "../../adapters/workspace/agent-prompt.ts";
import { callSurroundings, previews, type SurroundingsOf } from "../../adapters/workspace/call-surroundings.ts";
import { isMarkedFile } from "../../adapters/workspace/marked-file.ts";
import { openFileMarks } from "../../adapters/workspace/open-file-marks.ts";
import { rulePlaces } from "../../adapters/workspace/rule-places.ts";
import { findSkills, readText } from "../../adapters/workspace/skills/find-skills.ts";
import { keptBody, skillTexts } from "../../adapters/workspace/skills/kept-skills.ts";
import { sessionSkills } from "../../adapters/workspace/skills/session-skills.ts";
import { type PersonOf, profileWorkspaces, workspaceMaker, workspacesOf } from "../../adapters/workspace/workspaces.ts";
import type { Config } from "../../config/config-schema.ts";
import type { HomePaths } from "../../config/paths.ts";
import type { AgentRecord } from "../../core/agent/agent.ts";
import type { RunId } from "../../core/ids.ts";
import type { PersonId } from "../../core/people/person.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { Ports } from "../../core/ports/ports.ts";
import type { Tool, ToolHost } from "../../core/ports/tool.ts";
import type { Place } from "../../core/rights/match-rule.ts";
import type { SearchIndex } from "../../core/search/search-index.ts";
import { hostZone } from "../../core/zoned-time.ts";
import type { AgentSystem } from "../../engine/agents/agent-system.ts";
import { permanentAgentsOf } from "../../engine/agents/permanent-agents.ts";
import type { SystemAgent } from "../../engine/agents/system-agents.ts";
import type { Directory } from "../../engine/people/directory.ts";
import { personOf } from "../../engine/runtime/people.ts";
import { peopleSettings } from "../../engine/runtime/people-settings.ts";
import type { SubagentSettings } from "../../engine/subagents/settings.ts";
import type { Triggers } from "../../engine/triggers/triggers.ts";
import { type CommandParts, type CommandTools, commandTools } from "./command-tools.ts";
import { type NodeMcp, nodeMcp } from "./node-mcp.ts";
import { nodeWebTools } from "./node-web-tools.ts";
import { permanentDirectories } from "./permanent-directories.ts";
import { listRights } from "./tool-list-rights.ts";
import { toolPolicies } from "./tool-policies.ts";

export interface Toolkit {
  readonly tools: ToolHost;
  readonly promptOf: PromptOf;
  /** What a call depends on besides its arguments. */
  readonly surroundingsOf: SurroundingsOf;
  /** Ends what the tools use. */
  close?(): Promise<void>;
  /** The directories that paths in rules are relative to. */
  placeOf(agent: AgentRecord): Promise<Place>;
}

export interface ToolkitOptions extends Pick<PromptDeps, "permanentAgents" | "systemAgents" | "swarmNamed" | "marks"> {
  readonly config: Config;
  readonly paths: HomePaths;
  readonly clock: Clock;
  /** Tells which person an agent works for. */
  readonly store: OwnerReader;
  /** Whose an account is, and which tools a list leaves out. Absent: every account is a person, and no tool is left out. */
  readonly directory?: Directory;
  /** Files that came with messages. Absent: there are none. */
  readonly stored?: StoredFiles;
  /** Keeps changes of prompt files and notes. Absent: nothing is kept. */
  readonly changes?: KeepsChanges;
  /** What prompt files and notes count as. Absent: what the disk has. */
  readonly guard?: PromptGuard;
  /** Tools in addition to those created here. */
  readonly more?: readonly Tool[];
  /** The tools of MCP servers. */
  readonly mcp?: NodeMcp;
  /** What the tools of memory need besides the directories. Absent: there are none. */
  readonly memory?: Pick<MemoryDeps, "index" | "store">;
  /** Tools for the web. */
  readonly web?: readonly Tool[];
  /** Tools that work with the directories of an agent. */
  readonly commands?: (files: Pick<CommandParts, "placesOf" | "marks" | "guard">) => CommandTools;
  /** Tools under former names: an agent can call them, but no list shows them. */
  readonly older?: readonly Tool[];
  /** Replaces all tools. */
  readonly tools?: ToolHost;
}

export function createToolkit(options: ToolkitOptions): Toolkit {
  const { config, paths, clock, store, guard = noGuard, more = [], older = [] } = options;
  const settings = peopleSettings(config);
  const marks = options.marks ?? openFileMarks(paths);
  /** An account works in the directory of the person it belongs to now. */
  const whose =
    (people: "now" | "recent"): PersonOf =>
    async (agent) => {
      const id = agent.person ?? (await personOf(store, settings, agent, { rights: true }));
      if (id === undefined || !options.directory) return id;
      return (await options.directory[people]()).personOf(id as PersonId);
    };
  // Prompts are built before every model call: the directory is read for files only.
  const placesOf = agentPlaces(config, paths, workspacesOf(config, paths, whose("now")));
  const workspaceOf = workspacesOf(config, paths, whose("recent"));
  const rights = listRights(options.directory, settings);
  const commands = options.commands?.({ placesOf, marks, guard });
  const texts = skillTexts(paths);
  const skills = sessionSkills({
    find: ({ workspace }) => findSkills({ workspace, home: paths.home, userHome: homedir() }).skills,
    workspaceOf: async (agent) => (await workspaceOf(agent)).instructions,
    isMarked: ({ directory, text }) => isMarkedFile(marks, directory, "SKILL.md", text),
    texts,
  });
  const zone = (): string => config.session.timeZone ?? hostZone();
  const files = { placesOf, personOf: whose("now"), marks };
  const { changes } = options;
  const all = [
    currentTimeTool(clock, zone),
    ...fileTools({ ...files, changes, stored: options.stored }),
    ...(commands?.tools ?? []),
    ...(options.memory
      ? [
          skillTool({
            skillsOf: skills.of,
            bodyOf: keptBody(texts),
            readText,
            isMarked: (directory, file, text) => isMarkedFile(marks, directory, file, text),
          }) as Tool,
        ]
      : []),
    ...(options.memory && options.directory
      ? memoryTools(
          {
            ...options.memory,
            ...{ marks, guard },
            people: options.directory.now,
            directoryOf: async (agent) => (await workspacesOf(config, paths, whose("now"))(agent)).own,
          },
          changes && { ...files, changes, disk: realDisk, now: () => clock.now(), zone },
        )
      : []),
    ...(options.web ?? []),
    ...more,
  ];
  const tools =
    options.tools ??
    toolHost({
      tools: all,
      changing: options.mcp && changingTools(options.mcp),
      older,
      search: true,
      nesting: () => config.subagents.maxDepth > 1,
      policyOf: toolPolicies(config),
      standingOf: rights.standingOf,
    });
  const promptOf = agentPrompts({ ...options, marks, workspaceOf, skills });
  return {
    tools,
    async promptOf(agent, contextWindow) {
      await rights.refresh();
      return promptOf(agent, contextWindow);
    },
    surroundingsOf: callSurroundings(workspaceOf, () => commandEnvironment(process.env), previews(tools)),
    async close() {
      await options.mcp?.close();
      await commands?.close();
    },
    placeOf: rulePlaces(workspacesOf(config, paths, whose("now"))),
  };
}

const changingTools = ({ servers }: NodeMcp): ChangingTools => ({
  tools: () => servers.tools(),
  isFor: (tool, profile) => servers.isFor(tool, profile),
  summary: () => servers.summary(),
  untrustedFrom: (tool) => servers.untrustedFrom(tool),
});

interface NodeToolkitParts {
  readonly config: Config;
  readonly paths: HomePaths;
  readonly ports: Pick<Ports, "store" | "clock" | "ids" | "files" | "log" | "connectors">;
  readonly system: AgentSystem;
  readonly systemAgents: () => ReadonlyMap<string, SystemAgent>;
  readonly subagents: SubagentSettings;
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
  const { config, paths, ports, systemAgents, subagents, triggers, tools, moreTools = [] } = parts;
  const { store, clock } = ports;
  const system = () => parts.system;
  const deps = agentToolDepsOf({
    ...ports,
    config,
    system,
    systemAgents,
    subagents,
    workspaceFor: workspaceMaker(config, paths, parts.guard),
    shards: { name: config.store.shard, others: Object.keys(config.store.shards) },
  });
  const schedules = [
    cronTool(triggers.cron),
    ...cronTaskTools(triggers.cron),
    ...heartbeatTools(triggers.heartbeat),
  ] as readonly Tool[];
  return createToolkit({
    config,
    paths,
    clock,
    store,
    directory: parts.system.directory,
    marks: parts.marks,
    changes: parts.changes,
    guard: parts.guard,
    stored: parts.system.files && storedFiles(store, parts.system.files),
    systemAgents,
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
          ...{ config, paths, ports, guard: parts.guard, env: parts.env ?? process.env },
          permanents: () => permanentDirectories(ports.store, profileWorkspaces(config, paths)),
        }),
    web: nodeWebTools({ config, paths, clock, env: parts.env ?? process.env }),
    commands: tools
      ? undefined
      : (files) =>
          commandTools({
            ...{ ...files, config, paths, ports, events: parts.system.events, env: parts.env ?? process.env },
            nodeName: parts.nodeName ?? "",
            post: (request) => parts.system.post(request),
            async people(ids) {
              const now = await parts.system.directory.now();
              return ids.map((id) => now.standing(id).person);
            },
          }),
  });
}
