/**
 * What a command of an agent may touch on the disk: its person's workspace. The home with keys, database and other people's files,
 * the other workspaces and the home directories of the machine are hidden, everything else is read-only (L13).
 */
import { homedir } from "node:os";
import { join } from "node:path";
import type { Config } from "../../config/config-schema.ts";
import { type HomePaths, resolvePath } from "../../config/paths.ts";
import type { WorkspaceAccess } from "../../core/agent/exec-fields.ts";
import type { Current } from "../../core/current.ts";
import { freeze } from "../sandbox/freeze.ts";
import { hiddenPaths, programPaths } from "../sandbox/hidden-paths.ts";
import type { SandboxPolicy } from "../sandbox/sandbox.ts";
import type { Places } from "../tools/files/allowed-path.ts";
import { guardedFilesOf, PROMPT_NAMES, SKILL_NAMES } from "./guarded-workspace-files.ts";

type CommandPolicy = Omit<SandboxPolicy, "cwd" | "domains">;

interface PolicyParts {
  readonly settings: Current<Pick<Config, "profiles" | "sandbox">>;
  readonly paths: HomePaths;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly userHome?: string;
}

interface CommandPlaces {
  readonly access?: WorkspaceAccess;
  /** The directories of permanent agents, which have prompt files of their own. */
  readonly agentDirs?: readonly string[];
  /** Skills are frozen too. */
  readonly freezesSkills?: boolean;
}

export const commandPolicy =
  ({ settings, paths, env, userHome = homedir() }: PolicyParts) =>
  (places: Places, { access = "rw", agentDirs = [], freezesSkills = false }: CommandPlaces = {}): CommandPolicy => {
    const { workingDir, readDirs = [], writeDirs = [], quota } = places;
    const { roots } = guardedFilesOf(settings.current, paths);
    const isOwner = quota === undefined;
    const more = isOwner ? settings.current.sandbox.read.map((path) => resolvePath(path, paths.home, userHome)) : [];
    // Other people's commands write in their own directory only: elsewhere a file may be a part of a prompt.
    const granted = isOwner ? [workingDir, ...writeDirs] : [workingDir];
    const writable = access === "rw" ? granted : [];
    const shown = access === "none" ? [] : [...granted, ...readDirs, ...(isOwner ? [] : writeDirs)];
    const prompted = isOwner ? [workingDir, ...roots, ...agentDirs] : [workingDir];
    return {
      ...withFrozen(writable, prompted, freezesSkills ? [...PROMPT_NAMES, ...SKILL_NAMES] : PROMPT_NAMES),
      readable: [...programPaths(env.PATH), ...shown, ...more],
      hidden: [...hiddenPaths(userHome), paths.home, ...roots],
    };
  };

/** Makes these directories writable, without the files of these names in `prompted`. */
export const withFrozen = (
  writable: readonly string[],
  prompted: readonly string[],
  names: readonly string[],
): Pick<SandboxPolicy, "writable" | "frozen"> =>
  freeze(
    writable,
    prompted.flatMap((root) => names.map((name) => join(root, name))),
  );
