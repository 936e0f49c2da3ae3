/** Builds the system prompt of an agent from its profile, its tools, the files of its workspace and the agents it can reach. */
import { join } from "node:path";
import type { Config } from "../../config/config-schema.ts";
import type { AgentRecord } from "../../core/agent/agent.ts";
import type { SwarmRecord } from "../../core/agent/swarm.ts";
import { OWNER } from "../../core/people/person.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { PermanentAgents } from "../../engine/agents/permanent-agents.ts";
import { systemAgentsOf } from "../../engine/agents/system-agents.ts";
import {
  buildSystemPrompt,
  PERSONAL_FILES,
  type PromptSources,
  type SystemPrompt,
} from "../../engine/context/prompt/system-prompt.ts";
import type { Directory } from "../../engine/people/directory.ts";
import { NOTE_DIRECTORY, notePaths } from "../search/note-files.ts";
import { type FileMarks, noMarks } from "../tools/files/file-marks.ts";
import { noGuard, type PromptGuard, type TrustedFiles } from "../tools/files/prompt-guard.ts";
import { sharedDirectory } from "./agent-places.ts";
import { isMarkedFile } from "./marked-file.ts";
import { workspaceReaders } from "./read-workspace-file.ts";
import type { SessionSkills } from "./skills/session-skills.ts";
import type { AgentWorkspace, WorkspaceOf } from "./workspaces.ts";

/** `contextWindow`: of the model that is sent it. Default: large. */
export type PromptOf = (
  agent: AgentRecord,
  contextWindow: number | undefined,
  settings: PromptSettings,
) => Promise<SystemPrompt>;

type PromptSettings = Pick<Config, "profiles" | "workspaces" | "systemAgents">;

export interface PromptDeps {
  readonly clock: Pick<Clock, "now">;
  readonly workspaceOf: WorkspaceOf;
  /** The files that carry the mark of untrusted text. Default: none. */
  readonly marks?: FileMarks;
  /** What the files count as. Default: what the disk has. */
  readonly guard?: TrustedFiles & Pick<PromptGuard, "adopt">;
  /** The permanent agents that every prompt lists. Default: none. */
  readonly permanentAgents?: PermanentAgents["list"];
  /** The skills of an agent's session. Default: none. */
  readonly skills?: SessionSkills;
  /** Who is who. Default: prompts name no one. */
  readonly directory?: Directory;
  /** Finds a swarm by its name. Default: none. */
  readonly swarmNamed?: (nametag: string) => Promise<SwarmRecord | undefined>;
}

export function agentPrompts(deps: PromptDeps): PromptOf {
  const { marks = noMarks, guard = noGuard, clock, workspaceOf, permanentAgents, swarmNamed, directory } = deps;
  const readerOf = workspaceReaders(() => clock.now(), guard);
  return async (agent, contextWindow, config) => {
    const { descriptor } = agent;
    const workspace = await workspaceOf(agent);
    // The agent may have been made by another node, and a profile may have got another workspace.
    await guard.adopt(workspace.instructions);
    const instructions = readerOf(workspace.instructions);
    // A swarm's agent sees the memory that its owner shares with contacts.
    const own = descriptor.type === "swarm" ? workspace.instructions : workspace.own;
    const personal = own === undefined ? () => undefined : readerOf(own);
    const { memory } = config.profiles[agent.profile] ?? {};
    const days = own === undefined ? [] : dayNotes(guard, own, memory?.days);
    const isPersonal = (name: string): boolean => PERSONAL_FILES.includes(name) || days.includes(name);
    const prompt = buildSystemPrompt({
      descriptor,
      profilePrompt: config.profiles[agent.profile]?.prompt,
      contextWindow,
      workspace: workspace.own,
      shared: sharedWith(workspace, config),
      isMarked: (name, text) => isMarkedFile(marks, (isPersonal(name) && own) || workspace.instructions, name, text),
      readFile: (name) => (isPersonal(name) ? personal(name) : instructions(name)),
      notes: { main: memory?.main, days },
      permanentAgents: await permanentAgents?.(),
      skills: await deps.skills?.of(agent),
      systemAgent: descriptor.type === "system" ? systemAgentsOf(config).get(descriptor.tag) : undefined,
      swarm: descriptor.type === "swarm" ? await swarmNamed?.(descriptor.id) : undefined,
      person: directory && (await personIn(directory, agent)),
      extraSystemPrompt: agent.state.extraSystemPrompt,
    });
    return { ...prompt, skillsSnapshot: await deps.skills?.snapshotOf(agent) };
  };
}

/** The person of an agent for its prompt; undefined if that is the owner, who needs no introduction. */
async function personIn(directory: Directory, { person, descriptor }: AgentRecord): Promise<PromptSources["person"]> {
  if (person === undefined || person === OWNER || descriptor.type === "swarm") return undefined;
  const now = await directory.recent();
  const { person: id, role } = now.standing(person);
  return role === "owner" ? undefined : { id, role, name: now.record(id)?.name };
}

const DAY = /^memory\/\d{4}-\d\d-\d\d\.md$/u;

/** The latest notes of days, in their order. By their names, not by the clock: the same files make the same prompt. */
function dayNotes(guard: TrustedFiles, directory: string, count = 0): readonly string[] {
  if (count === 0) return [];
  return notePaths(directory, guard.names(join(directory, NOTE_DIRECTORY)))
    .filter((path) => DAY.test(path))
    .slice(-count);
}

/** The directory that a guest's agent may read besides its own. */
const sharedWith = (
  { instructions, guest }: AgentWorkspace,
  { workspaces }: Pick<Config, "workspaces">,
): string | undefined => (guest !== undefined && workspaces.shared ? sharedDirectory(instructions) : undefined);
