/** The plain files on a real disk. */
import { randomBytes } from "node:crypto";
import {
  closeSync,
  fsyncSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { makeDirectory } from "../../system/make-directory.ts";
import type { MirrorFiles } from "./mirror-files.ts";

export function diskFiles(home: string): MirrorFiles {
  const at = (path: string): string => join(home, path);
  return {
    read: (path) => orMissing(() => readFileSync(at(path))),
    readAt(path, offset, length) {
      const fd = openSync(at(path), "r");
      try {
        const buffer = Buffer.allocUnsafe(length);
        let have = 0;
        while (have < length) {
          const got = readSync(fd, buffer, have, length - have, offset + have);
          if (got === 0) break;
          have += got;
        }
        return buffer.subarray(0, have);
      } finally {
        closeSync(fd);
      }
    },
    size: (path) => statSync(at(path), { throwIfNoEntry: false })?.size,
    list: (path) => orMissing(() => readdirSync(at(path)).sort()) ?? [],
    append(path, data) {
      const fd = openSync(at(path), "a", 0o600);
      try {
        writeAll(fd, data);
      } finally {
        closeSync(fd);
      }
    },
    replace(path, data) {
      const temporary = at(`${path}.${process.pid}-${randomBytes(6).toString("hex")}.tmp`);
      const fd = openSync(temporary, "wx", 0o600);
      try {
        try {
          writeAll(fd, data);
        } finally {
          closeSync(fd);
        }
        renameSync(temporary, at(path));
      } catch (error) {
        rmSync(temporary, { force: true });
        throw error;
      }
    },
    truncate: (path, size) => truncateSync(at(path), size),
    move: (from, to) => renameSync(at(from), at(to)),
    remove: (path) => rmSync(at(path), { recursive: true, force: true }),
    makeDir: (path) => makeDirectory(at(path)),
    sync: (path) =>
      void orMissing(() => {
        const fd = openSync(at(path), "r");
        try {
          fsyncSync(fd);
        } finally {
          closeSync(fd);
        }
      }),
  };
}

function writeAll(fd: number, data: string | Buffer): void {
  const bytes = typeof data === "string" ? Buffer.from(data) : data;
  for (let done = 0; done < bytes.length; ) done += writeSync(fd, bytes, done);
}

function orMissing<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw error;
  }
}
