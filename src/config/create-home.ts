/**
 * Creates a home and its directories, readable for their owner only. An existing directory keeps its mode, because it may be
 * shared on purpose; it is reported.
 */
import { existsSync } from "node:fs";
import { mkdir, stat } from "node:fs/promises";
import { ConfigError } from "../core/errors.ts";
import { DIRECTORY_MODE, type HomePaths, homeDirectories, restoreMarker } from "./paths.ts";

interface CreatedHome {
  readonly created: readonly string[];
  /** Directories that other users can enter. */
  readonly open: readonly string[];
}

export async function createHome(paths: HomePaths): Promise<CreatedHome> {
  const created: string[] = [];
  const open: string[] = [];
  if (!existsSync(paths.home) && existsSync(restoreMarker(paths.home))) {
    throw new ConfigError(`A backup was being restored into ${paths.home} when the process was killed.`, {
      hint: "Run `rookery backup restore --finish`: it completes the restore. Nothing is lost.",
    });
  }
  for (const directory of homeDirectories(paths)) {
    try {
      if (await mkdir(directory, { recursive: true, mode: DIRECTORY_MODE })) created.push(directory);
      else if (((await stat(directory)).mode & 0o077) !== 0) open.push(directory);
    } catch (cause) {
      throw new ConfigError(`The directory ${directory} cannot be created: ${(cause as Error).message}.`, {
        cause,
        hint: "Choose another home with --home or ROOKERY_HOME, or make it writable for this user.",
      });
    }
  }
  return { created, open };
}
