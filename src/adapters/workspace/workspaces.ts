/** The working directories of agents: the directory of the profile, or a permanent agent's own directory inside it. */
import { existsSync, mkdirSync, realpathSync } from "node:fs";
import { dirname, isAbsolute, join, resolve, sep } from "node:path";
import type { Config } from "../../config/config-schema.ts";
import { DIRECTORY_MODE, type HomePaths, resolvePath } from "../../config/paths.ts";
import type { AgentRecord } from "../../core/agent/agent.ts";
import { ConfigError, InvalidInputError } from "../../core/errors.ts";

export type WorkspaceOf = (agent: Pick<AgentRecord, "profile" | "descriptor">) => string;

/** Creates the directories that profiles name. Throws `ConfigError` if one cannot be created. */
export function makeWorkspaces(config: Pick<Config, "profiles">, paths: HomePaths): void {
  for (const name of Object.keys(config.profiles)) makeDirectory(ofProfile(config, paths, name), name);
}

function ofProfile({ profiles }: Pick<Config, "profiles">, paths: HomePaths, name: string): string {
  const written = profiles[name]?.workspace;
  return written === undefined ? paths.workspace : resolvePath(written, paths.home);
}

export function workspacesOf(config: Pick<Config, "profiles">, paths: HomePaths): WorkspaceOf {
  return ({ profile, descriptor }) => {
    const workspace = ofProfile(config, paths, profile);
    if (descriptor.type !== "permanent" || descriptor.workspaceDir === undefined) return workspace;
    const own = isAbsolute(descriptor.workspaceDir)
      ? resolve(descriptor.workspaceDir)
      : join(workspace, descriptor.workspaceDir);
    return own.startsWith(`${workspace}${sep}`) ? own : workspace;
  };
}

/**
 * Creates a directory for an agent inside the workspace of a profile. Its real path is checked before and after: a link that
 * leads out of the workspace is refused.
 */
export function workspaceMaker(config: Pick<Config, "profiles">, paths: HomePaths) {
  return async (profile: string, directory: string | undefined): Promise<string | undefined> => {
    if (directory === undefined) return undefined;
    const workspace = workspacesOf(config, paths)({ profile, descriptor: { type: "heartbeat" } });
    const inside = (root: string, path: string): boolean => path.startsWith(`${root}${sep}`);
    const outside = new InvalidInputError("Path is outside the allowed directories.");
    const wanted = resolve(workspace, directory);
    if (!inside(workspace, wanted)) throw outside;
    const root = realpathSync(workspace);
    const parent = realpathSync(nearestExisting(wanted));
    if (parent !== root && !inside(root, parent)) throw outside;
    mkdirSync(wanted, { recursive: true, mode: DIRECTORY_MODE });
    const real = realpathSync(wanted);
    if (!inside(root, real)) throw outside;
    return real;
  };
}

/** The deepest part of a path that exists. */
const nearestExisting = (path: string): string => (existsSync(path) ? path : nearestExisting(dirname(path)));

function makeDirectory(directory: string, profile: string): void {
  try {
    mkdirSync(directory, { recursive: true, mode: DIRECTORY_MODE });
  } catch (cause) {
    throw new ConfigError(`The workspace ${directory} of the profile ${profile} cannot be created.`, {
      cause,
      hint: "Choose another directory, or make its parent writable for this user.",
    });
  }
}
