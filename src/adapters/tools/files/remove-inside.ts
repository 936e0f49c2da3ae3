/** Removes a file that an agent may write, through its open directory, if it is still the file that was read. */
import { join } from "node:path";
import type { Places } from "./allowed-path.ts";
import type { Disk } from "./disk.ts";
import { openParent } from "./open-inside.ts";
import { checkUnchanged, regularFile, type Writing } from "./write-inside.ts";

/** Durable when it resolves. */
export async function removeInside(
  disk: Disk,
  places: Places,
  path: string,
  { replaces, around = (_, change) => change() }: Writing = {},
): Promise<void> {
  const { directory, name } = await openParent(disk, places, path);
  try {
    await around(join(directory.path, name), async () => {
      if (replaces) checkUnchanged(replaces, await regularFile(disk, directory, name, path), path);
      await disk.remove(directory.at(name));
      await directory.handle.sync();
    });
  } finally {
    await directory.handle.close();
  }
}
