/** Finds out whether a path is in a directory that git accepts as a repository: `.git`, a bare one, the one of a worktree. */
import { dirname, join } from "node:path";
import type { Disk } from "./disk.ts";

/** `path`: absolute, with links resolved. */
export async function isInRepository(disk: Disk, path: string): Promise<boolean> {
  for (let at = path; dirname(at) !== at; ) {
    at = dirname(at);
    if (await isRepository(disk, at)) return true;
  }
  return false;
}

async function isRepository(disk: Disk, directory: string): Promise<boolean> {
  const has = async (name: string): Promise<boolean> =>
    disk.lstat(join(directory, name)).then(
      () => true,
      () => false,
    );
  if (!(await has("HEAD"))) return false;
  return ((await has("objects")) && (await has("refs"))) || has("commondir");
}
