/** Where agents work: the profile's directory, and a permanent agent's own one inside it. */
import { mkdirSync } from "node:fs";
import { isAbsolute, join, resolve, sep } from "node:path";
import type { Config } from "../config/config-schema.ts";
import { DIRECTORY_MODE, type HomePaths, resolvePath } from "../config/paths.ts";
import type { AgentRecord } from "../core/agent.ts";
import { ConfigError } from "../core/errors.ts";

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
