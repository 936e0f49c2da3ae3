/** Stores files on the local disk. A file is written to a temporary name, flushed and renamed, so it is complete or absent. */
import { randomBytes } from "node:crypto";
import { mkdir, open, readFile, rename } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { InvalidInputError } from "../../core/errors.ts";
import type { FileStore } from "../../core/ports/ports.ts";

export function diskFileStore(directory: string): FileStore {
  return {
    async write(name, content) {
      if (name === "" || basename(name) !== name || name.startsWith(".") || name.includes("\0")) {
        throw new InvalidInputError(`"${name}" is not a file name.`);
      }
      const path = join(directory, name);
      const temporary = `${path}.${process.pid}.${randomBytes(6).toString("hex")}.tmp`;
      await mkdir(directory, { recursive: true, mode: 0o700 });
      const file = await open(temporary, "wx", 0o600);
      try {
        await file.writeFile(content);
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(temporary, path);
      return path;
    },
    async read(path) {
      // A path may come from outside: only files in this directory are read.
      if (dirname(resolve(path)) !== resolve(directory)) {
        throw new InvalidInputError(`"${path}" is not in the file store.`);
      }
      try {
        return await readFile(path);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
        throw error;
      }
    },
  };
}
