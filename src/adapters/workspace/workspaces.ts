/**
 * The working directories of agents. The owner's agents share the workspace of their profile; a permanent agent may have a
 * directory inside it. Every other person has an own directory below `people/`, for all agents that belong to this person.
 */
import { existsSync, realpathSync } from "node:fs";
import { dirname, isAbsolute, join, resolve, sep } from "node:path";
import type { Config } from "../../config/config-schema.ts";
import { type HomePaths, resolvePath } from "../../config/paths.ts";
import type { AgentRecord } from "../../core/agent/agent.ts";
import type { Current } from "../../core/current.ts";
import { ConfigError, InvalidInputError } from "../../core/errors.ts";
import { OWNER } from "../../core/people/person.ts";
import { makeDirectory } from "../system/make-directory.ts";
import { noGuard, type PromptGuard } from "../tools/files/prompt-guard.ts";
import { personDirectory } from "./person-directory.ts";

/** The person an agent belongs to; undefined if no one who is known. */
export type PersonOf = (agent: AgentRecord) => Promise<string | undefined>;

export interface AgentWorkspace {
  /** The owner's directory with the instructions of the agent: AGENTS.md, SOUL.md, TOOLS.md. */
  readonly instructions: string;
  /** The agent's own files, with its person's USER.md and MEMORY.md. Undefined: it belongs to no one who is known. */
  readonly own: string | undefined;
  /** Set if that person is not the owner. */
  readonly guest?: string;
}

export type WorkspaceOf = (agent: AgentRecord) => Promise<AgentWorkspace>;

/** The owner's workspace of each profile. Only here are files tasks or instructions. */
export const profileWorkspaces =
  ({ profiles }: Pick<Config, "profiles">, paths: HomePaths) =>
  (profile: string): string => {
    const written = profiles[profile]?.workspace;
    return written === undefined ? paths.workspace : resolvePath(written, paths.home);
  };

/** Creates the directories that profiles name. Throws `ConfigError` if one cannot be created or belongs to other people. */
export function makeWorkspaces(config: Pick<Config, "profiles">, paths: HomePaths): void {
  const ofProfile = profileWorkspaces(config, paths);
  for (const name of Object.keys(config.profiles)) {
    const directory = ofProfile(name);
    if (directory === paths.people || isBelow(paths.people, directory)) {
      throw new ConfigError(`The workspace ${directory} of the profile ${name} is in the directory of other people.`, {
        hint: `Choose a directory outside of ${paths.people}.`,
      });
    }
    makeWorkspace(directory, name);
  }
}

export function workspacesOf(
  settings: Current<Pick<Config, "profiles">>,
  paths: HomePaths,
  personOf: PersonOf,
): WorkspaceOf {
  return async (agent) => {
    const ofProfile = profileWorkspaces(settings.current, paths);
    const instructions = inside(ofProfile(agent.profile), agent);
    const person = await personOf(agent);
    if (person === OWNER) return { instructions, own: instructions };
    const own = person === undefined ? undefined : join(paths.people, personDirectory(person));
    return { instructions: ofProfile(agent.profile), own, guest: person };
  };
}

/** The directory of a permanent agent inside a workspace; otherwise the workspace. */
function inside(workspace: string, { descriptor }: Pick<AgentRecord, "descriptor">): string {
  if (descriptor.type !== "permanent" || descriptor.workspaceDir === undefined) return workspace;
  const { workspaceDir } = descriptor;
  const own = isAbsolute(workspaceDir) ? resolve(workspaceDir) : join(workspace, workspaceDir);
  return isBelow(workspace, own) ? own : workspace;
}

const isBelow = (root: string, path: string): boolean => path.startsWith(`${root}${sep}`);

/**
 * Creates a directory for an agent inside the workspace of a profile. Its real path is checked before and after: a link that
 * leads out of the workspace is refused. Commands that run already and can write there change no prompt file in it.
 */
export function workspaceMaker(
  settings: Current<Pick<Config, "profiles">>,
  paths: HomePaths,
  guard: Pick<PromptGuard, "adopt"> = noGuard,
) {
  return async (profile: string, directory: string | undefined): Promise<string | undefined> => {
    if (directory === undefined) return undefined;
    const workspace = profileWorkspaces(settings.current, paths)(profile);
    const outside = new InvalidInputError("Path is outside the allowed directories.");
    const wanted = resolve(workspace, directory);
    if (!isBelow(workspace, wanted)) throw outside;
    const root = realpathSync(workspace);
    const parent = realpathSync(nearestExisting(wanted));
    if (parent !== root && !isBelow(root, parent)) throw outside;
    // Before the directory is there: a command could write in it at once.
    await guard.adopt(wanted);
    makeDirectory(wanted);
    const real = realpathSync(wanted);
    if (!isBelow(root, real)) throw outside;
    return real;
  };
}

/** The deepest part of a path that exists. */
const nearestExisting = (path: string): string => (existsSync(path) ? path : nearestExisting(dirname(path)));

function makeWorkspace(directory: string, profile: string): void {
  try {
    makeDirectory(directory);
  } catch (cause) {
    throw new ConfigError(`The workspace ${directory} of the profile ${profile} cannot be created.`, {
      cause,
      hint: "Choose another directory, or make its parent writable for this user.",
    });
  }
}
