/** The operations on the disk that replace a directory. A test ends the process between any two of them. */
import { open, rename, rm } from "node:fs/promises";
import { FILE_MODE } from "../../../config/paths.ts";
import { makeDirectory } from "../../system/make-directory.ts";

export interface SkillDisk {
  mkdir(path: string): Promise<unknown>;
  /** Durable when it resolves. */
  write(path: string, bytes: Uint8Array): Promise<void>;
  /** Names in it are durable when it resolves. */
  flush(directory: string): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  remove(path: string): Promise<void>;
}

export const realSkillDisk: SkillDisk = {
  mkdir: async (path) => makeDirectory(path),
  async write(path, bytes) {
    const handle = await open(path, "wx", FILE_MODE);
    try {
      await handle.writeFile(bytes);
      await handle.sync();
    } finally {
      await handle.close();
    }
  },
  async flush(directory) {
    const handle = await open(directory, "r");
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  },
  rename: (from, to) => rename(from, to),
  remove: (path) => rm(path, { recursive: true, force: true }),
};
