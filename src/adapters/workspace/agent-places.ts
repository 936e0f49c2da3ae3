/**
 * Where the file tools of an agent may read and write. The owner's agents have the owner's workspace; another person's agents
 * have the directory of that person, with a quota, and may read the owner's `shared/` if the configuration says so (L13).
 */
import { lstat } from "node:fs/promises";
import { join } from "node:path";
import type { Config } from "../../config/config-schema.ts";
import type { HomePaths } from "../../config/paths.ts";
import type { AgentRecord } from "../../core/agent/agent.ts";
import type { Current } from "../../core/current.ts";
import { DeniedError } from "../../core/errors.ts";
import { makeDirectory } from "../system/make-directory.ts";
import type { Places } from "../tools/files/allowed-path.ts";
import { writeQueues } from "../tools/files/write-queues.ts";
import { guardedFilesOf } from "./guarded-workspace-files.ts";
import { profileWorkspaces, type WorkspaceOf } from "./workspaces.ts";

type PlacesConfig = Current<Pick<Config, "profiles" | "workspaces">>;

/** How many files and directories one person may have. */
const MAX_FILES = 2_000;

/** The part of the owner's workspace that others may read. */
export const sharedDirectory = (workspace: string): string => join(workspace, "shared");

export function agentPlaces(settings: PlacesConfig, paths: HomePaths, workspaceOf: WorkspaceOf) {
  const queues = writeQueues();
  return async (agent: AgentRecord): Promise<Places> => {
    const { own, guest } = await workspaceOf(agent);
    const { readDirs = [], writeDirs } = agent.state.permissions ?? {};
    if (own === undefined) {
      throw new DeniedError("This agent belongs to no one who is known here, so it has no files.", {
        hint: "Ask the owner to add the person, or to remove this agent.",
      });
    }
    if (guest === undefined) return { workingDir: own, readDirs, writeDirs };
    makeDirectory(own);
    const { current } = settings;
    const { maxBytes, shared } = current.workspaces;
    const common = sharedDirectory(profileWorkspaces(current, paths)(agent.profile));
    return {
      workingDir: own,
      readDirs: shared && (await isDirectory(common)) ? [...readDirs, common] : readDirs,
      writeDirs,
      guarded: guardedFilesOf(current, paths),
      quota: { of: guest, maxBytes, maxFiles: MAX_FILES, exclusive: queues.of(own) },
    };
  };
}

/** A link in its place could show everything. */
const isDirectory = (path: string): Promise<boolean> =>
  lstat(path).then(
    (stats) => stats.isDirectory(),
    () => false,
  );
