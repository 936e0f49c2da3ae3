/** Lists the files of the owner's workspaces that only the owner's agents may write: parts of prompts, and tasks. */

import type { Config } from "../../config/config-schema.ts";
import type { HomePaths } from "../../config/paths.ts";
import { WORKSPACE_FILES } from "../../engine/context/prompt/system-prompt.ts";
import type { GuardedFiles } from "../tools/files/guarded-files.ts";
import { profileWorkspaces } from "./workspaces.ts";

const FILES = [...WORKSPACE_FILES, "HEARTBEAT.md", "IDENTITY.md", "BOOTSTRAP.md", "TASK.md"];
const DIRECTORIES = ["cron", "heartbeat", "memory"];
/** Programs that Git runs for the owner, outside of any sandbox. */
export const HOOKS = ".git/hooks";
/** What nobody changes without a review in a directory in which an agent has prompt files. */
export const PROMPT_NAMES: readonly string[] = [...FILES, ...DIRECTORIES, HOOKS];
/** Skills: commands with untrusted text in context and background commands do not change them. */
export const SKILL_NAMES: readonly string[] = ["skills", ".agents/skills"];

export function guardedFilesOf(config: Pick<Config, "profiles">, paths: HomePaths): GuardedFiles {
  const own = Object.keys(config.profiles).map(profileWorkspaces(config, paths));
  return { roots: [...new Set([paths.workspace, ...own])], files: FILES, directories: DIRECTORIES };
}
