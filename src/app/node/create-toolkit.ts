/** Builds a toolkit: the tools of each agent, and its system prompt. */

import { homedir } from "node:os";
import { commandEnvironment } from "../../adapters/system/command-environment.ts";
import type { OwnerReader } from "../../adapters/tools/agents/relations.ts";
import { currentTimeTool } from "../../adapters/tools/current-time.ts";
import { realDisk } from "../../adapters/tools/files/disk.ts";
import type { KeepsChanges } from "../../adapters/tools/files/file-changes.ts";
import { fileTools } from "../../adapters/tools/files/file-tools.ts";
import { noGuard, type PromptGuard } from "../../adapters/tools/files/prompt-guard.ts";
import type { StoredFiles } from "../../adapters/tools/files/stored-files.ts";
import type { MemoryDeps } from "../../adapters/tools/memory/memory-deps.ts";
import { memoryTools } from "../../adapters/tools/memory/memory-tools.ts";
import { skillTool } from "../../adapters/tools/skills/skill-tool.ts";
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
import { type PersonOf, workspacesOf } from "../../adapters/workspace/workspaces.ts";
import type { HomePaths } from "../../config/paths.ts";
import type { Settings } from "../../config/settings.ts";
import type { AgentRecord } from "../../core/agent/agent.ts";
import type { Current } from "../../core/current.ts";
import type { PersonId } from "../../core/people/person.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { Tool, ToolHost } from "../../core/ports/tool.ts";
import type { Place } from "../../core/rights/match-rule.ts";
import type { Directory } from "../../engine/people/directory.ts";
import { personOf } from "../../engine/runtime/people.ts";
import type { CommandParts, CommandTools } from "./command-tools.ts";
import type { NodeMcp } from "./node-mcp.ts";
import { listRights } from "./tool-list-rights.ts";
import { toolPolicy } from "./tool-policies.ts";

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

interface ToolkitOptions extends Pick<PromptDeps, "permanentAgents" | "swarmNamed" | "marks"> {
  readonly settings: Current<Settings>;
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
  const { settings, paths, clock, store, guard = noGuard, more = [], older = [] } = options;
  const marks = options.marks ?? openFileMarks(paths);
  /** An account works in the directory of the person it belongs to now. */
  const whose =
    (people: "now" | "recent"): PersonOf =>
    async (agent) => {
      const id = agent.person ?? (await personOf(store, settings.current.identity, agent, { rights: true }));
      if (id === undefined || !options.directory) return id;
      return (await options.directory[people]()).personOf(id as PersonId);
    };
  // Prompts are built before every model call: the directory is read for files only.
  const placesOf = agentPlaces(settings, paths, workspacesOf(settings, paths, whose("now")));
  const workspaceOf = workspacesOf(settings, paths, whose("recent"));
  const rights = listRights(options.directory, settings);
  const commands = options.commands?.({ placesOf, marks, guard });
  const texts = skillTexts(paths);
  const skills = sessionSkills({
    find: ({ workspace }) => findSkills({ workspace, home: paths.home, userHome: homedir() }).skills,
    workspaceOf: async (agent) => (await workspaceOf(agent)).instructions,
    isMarked: ({ directory, text }) => isMarkedFile(marks, directory, "SKILL.md", text),
    texts,
  });
  const zone = (): string => settings.current.zone;
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
            directoryOf: async (agent) => (await workspacesOf(settings, paths, whose("now"))(agent)).own,
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
      nesting: () => settings.current.subagents.maxDepth > 1,
      policyOf: (profile) => toolPolicy(settings.current, profile),
      standingOf: rights.standingOf,
    });
  const promptOf = agentPrompts({ ...options, marks, workspaceOf, skills });
  return {
    tools,
    async promptOf(agent, contextWindow, now) {
      await rights.refresh();
      return promptOf(agent, contextWindow, now);
    },
    surroundingsOf: callSurroundings(workspaceOf, () => commandEnvironment(process.env), previews(tools)),
    async close() {
      await options.mcp?.close();
      await commands?.close();
    },
    placeOf: rulePlaces(workspacesOf(settings, paths, whose("now"))),
  };
}

const changingTools = ({ servers }: NodeMcp): ChangingTools => ({
  tools: () => servers.tools(),
  isFor: (tool, profile) => servers.isFor(tool, profile),
  summary: () => servers.summary(),
  untrustedFrom: (tool) => servers.untrustedFrom(tool),
});
