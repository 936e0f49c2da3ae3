/** The names of backups in the home: they sort by their time. */
import { existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";

const NAME = /^rookery-\d{8}T\d{9}Z\.tar\.gz$/;

export const backupName = (at: number): string => `rookery-${new Date(at).toISOString().replace(/[-:.]/g, "")}.tar.gz`;

/** Names, the newest first. */
export const backupsIn = (directory: string): readonly string[] =>
  existsSync(directory)
    ? readdirSync(directory)
        .filter((name) => NAME.test(name))
        .sort()
        .reverse()
    : [];

/** Removes all but the newest. Returns the paths it removed. */
export function pruneBackups(directory: string, keep: number): readonly string[] {
  return backupsIn(directory)
    .slice(Math.max(1, keep))
    .map((name) => {
      const path = join(directory, name);
      rmSync(path);
      return path;
    });
}
