/** Where agents work: the profile's directory, and a permanent agent's own one inside it. */
import { existsSync, mkdirSync, realpathSync } from "node:fs";
import { dirname, isAbsolute, join, resolve, sep } from "node:path";
import type { Config } from "../../config/config-schema.ts";
import { DIRECTORY_MODE, type HomePaths, resolvePath } from "../../config/paths.ts";
import type { AgentRecord } from "../../core/agent/agent.ts";
import { ConfigError, InvalidInputError } from "../../core/errors.ts";

export type WorkspaceOf = (agent: Pick<AgentRecord, "profile" | "descriptor">) => string;

/** Makes the directories that profiles name. Throws `ConfigError` where one cannot be made. */
export function openWorkspaces(config: Pick<Config, "profiles">, paths: HomePaths): WorkspaceOf {
  const ofProfile = (name: string): string => {
    const written = config.profiles[name]?.workspace;
    return written === undefined ? paths.workspace : resolvePath(written, paths.home);
  };
  for (const name of Object.keys(config.profiles)) makeDirectory(ofProfile(name), name);
  return ({ profile, descriptor }) => {
    const workspace = ofProfile(profile);
    if (descriptor.type !== "permanent" || descriptor.workspaceDir === undefined) return workspace;
    const own = isAbsolute(descriptor.workspaceDir)
      ? resolve(descriptor.workspaceDir)
      : join(workspace, descriptor.workspaceDir);
    return own.startsWith(`${workspace}${sep}`) ? own : workspace;
  };
}

/**
 * Makes a directory of an agent's own inside a profile's workspace. Where it really leads is checked once it is there: a link
 * on the way out is refused.
 */
export function workspaceMaker(config: Pick<Config, "profiles">, paths: HomePaths) {
  return async (profile: string, directory: string | undefined): Promise<string | undefined> => {
    if (directory === undefined) return undefined;
    const workspace = openWorkspaces(config, paths)({ profile, descriptor: { type: "heartbeat" } });
    const inside = (root: string, path: string): boolean => path.startsWith(`${root}${sep}`);
    const outside = new InvalidInputError("Path is outside the allowed directories.");
    const wanted = resolve(workspace, directory);
    if (!inside(workspace, wanted)) throw outside;
    const root = realpathSync(workspace);
    const there = realpathSync(nearestThere(wanted));
    if (there !== root && !inside(root, there)) throw outside;
    mkdirSync(wanted, { recursive: true, mode: DIRECTORY_MODE });
    const real = realpathSync(wanted);
    if (!inside(root, real)) throw outside;
    return real;
  };
}

/** The deepest part of a path that exists. */
const nearestThere = (path: string): string => (existsSync(path) ? path : nearestThere(dirname(path)));

function makeDirectory(directory: string, profile: string): void {
  try {
    mkdirSync(directory, { recursive: true, mode: DIRECTORY_MODE });
  } catch (cause) {
    throw new ConfigError(`The workspace ${directory} of the profile ${profile} cannot be made.`, {
      cause,
      hint: "Choose another directory, or make it writable for this user.",
    });
  }
}
