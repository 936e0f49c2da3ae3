/** The contents of all versions in `changes/versions/` of the home, each named by its hash. A file there never changes. */
import { existsSync, readFileSync } from "node:fs";
import { open, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { FILE_MODE } from "../../../config/paths.ts";
import type { FileVersion } from "../../../core/file-change.ts";
import { makeDirectory } from "../../system/make-directory.ts";
import { versionOf } from "../../tools/files/text-version.ts";

const NAME = /^[0-9a-f]{64}$/;

export interface VersionTexts {
  /** Durable when it resolves. */
  put(text: string | Buffer | null): Promise<FileVersion | null>;
  /** Null for no file; undefined if the content is not kept any more. */
  get(version: FileVersion | null): Buffer | null | undefined;
  /** Removes all other contents. */
  keepOnly(hashes: ReadonlySet<string>): Promise<void>;
}

export function versionTexts(directory: string): VersionTexts {
  const at = (sha256: string): string => join(directory, sha256);
  return {
    async put(text) {
      if (text === null) return null;
      const version = versionOf(text);
      if (existsSync(at(version.sha256))) return version;
      makeDirectory(directory);
      const temporary = `${at(version.sha256)}.tmp`;
      const handle = await open(temporary, "w", FILE_MODE);
      try {
        await handle.writeFile(text);
        await handle.sync();
      } finally {
        await handle.close();
      }
      await rename(temporary, at(version.sha256));
      return version;
    },
    get(version) {
      if (version === null) return null;
      if (!NAME.test(version.sha256) || !existsSync(at(version.sha256))) return undefined;
      const text = readFileSync(at(version.sha256));
      return versionOf(text).sha256 === version.sha256 ? text : undefined;
    },
    async keepOnly(hashes) {
      for (const name of await readdir(directory).catch(() => [])) {
        if (!hashes.has(name)) await rm(at(name), { force: true });
      }
    },
  };
}
