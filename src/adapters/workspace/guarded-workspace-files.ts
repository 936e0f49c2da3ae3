/** Lists the workspace files that only the owner's agents may write: the parts of prompts, and tasks that run by themselves. */

import type { Config } from "../../config/config-schema.ts";
import type { HomePaths } from "../../config/paths.ts";
import { WORKSPACE_FILES } from "../../engine/context/prompt/system-prompt.ts";
import type { GuardedFiles } from "../tools/files/guarded-files.ts";
import type { WorkspaceOf } from "./workspaces.ts";

const FILES = [...WORKSPACE_FILES, "HEARTBEAT.md", "IDENTITY.md", "BOOTSTRAP.md", "TASK.md"];
const DIRECTORIES = ["cron", "heartbeat", "memory"];

export function guardedFilesOf(
  { profiles }: Pick<Config, "profiles">,
  paths: Pick<HomePaths, "workspace">,
  workspaceOf: WorkspaceOf,
): GuardedFiles {
  const own = Object.keys(profiles).map((profile) => workspaceOf({ profile, descriptor: { type: "heartbeat" } }));
  return { roots: [...new Set([paths.workspace, ...own])], files: FILES, directories: DIRECTORIES };
}
