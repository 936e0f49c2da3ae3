/** Reads text that others may have put there: regular files only, never through a link, never waiting for a pipe, bounded. */
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";

/** Undefined if there is no such file, or it cannot be read. `longer`: a file of more bytes is cut, or not read at all. */
export function readPlainText(path: string, maxBytes: number, longer: "cut" | "refused"): string | undefined {
  try {
    const fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const stats = fstatSync(fd);
      if (!stats.isFile() || (longer === "refused" && stats.size > maxBytes)) return undefined;
      const buffer = Buffer.alloc(Math.min(stats.size, maxBytes));
      return buffer.toString("utf8", 0, readSync(fd, buffer, 0, buffer.length, 0));
    } finally {
      closeSync(fd);
    }
  } catch {
    return undefined;
  }
}
