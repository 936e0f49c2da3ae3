/** Removes a file that an agent may write, through its open directory, if it is still the file that was read. */
import type { Stats } from "node:fs";
import type { Places } from "./allowed-path.ts";
import type { Disk } from "./disk.ts";
import { openParent } from "./open-inside.ts";
import { checkUnchanged, regularFile } from "./write-inside.ts";

/** Durable when it resolves. */
export async function removeInside(disk: Disk, places: Places, path: string, was: Stats): Promise<void> {
  const { directory, name } = await openParent(disk, places, path);
  try {
    checkUnchanged(was, await regularFile(disk, directory, name, path), path);
    await disk.remove(directory.at(name));
    await directory.handle.sync();
  } finally {
    await directory.handle.close();
  }
}
