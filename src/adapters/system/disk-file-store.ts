/** Stores files on the local disk. A file is written to a temporary name, flushed and renamed, so it is complete or absent. */
import { randomBytes } from "node:crypto";
import { open, readFile, rename, rm } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { InvalidInputError } from "../../core/errors.ts";
import type { BlobStore } from "../../core/ports/ports.ts";
import { makeDirectory } from "./make-directory.ts";

export function diskFileStore(directory: string): BlobStore {
  // A path may come from outside: only files in this directory are read and removed.
  const inside = (path: string): void => {
    if (dirname(resolve(path)) !== resolve(directory))
      throw new InvalidInputError(`"${path}" is not in the file store.`);
  };
  return {
    async write(name, content) {
      if (name === "" || basename(name) !== name || name.startsWith(".") || name.includes("\0")) {
        throw new InvalidInputError(`"${name}" is not a file name.`);
      }
      const path = join(directory, name);
      const temporary = `${path}.${process.pid}.${randomBytes(6).toString("hex")}.tmp`;
      makeDirectory(directory);
      try {
        await writeNew(temporary, content);
        await rename(temporary, path);
      } catch (error) {
        await rm(temporary, { force: true });
        throw error;
      }
      await syncDirectory(directory);
      return path;
    },
    pathOf: (name) => join(directory, name),
    async remove(path) {
      inside(path);
      await rm(path, { force: true });
    },
    async read(path) {
      inside(path);
      try {
        return await readFile(path);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
        throw error;
      }
    },
  };
}

async function writeNew(path: string, content: string | Uint8Array): Promise<void> {
  const file = await open(path, "wx", 0o600);
  try {
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** After a rename the name is durable only when the directory is. */
async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
