/** Reads a file of a workspace for the system prompt: a regular file in its place, never through a link, bounded. */
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { join } from "node:path";
import type { ReadWorkspaceFile } from "../agents/prompt/workspace-files.ts";

const MAX_BYTES = 1024 * 1024;

/** Gives undefined for whatever cannot be read: a prompt is built without it, and says so in its report. */
export const workspaceReader =
  (workspace: string): ReadWorkspaceFile =>
  (name) => {
    try {
      const fd = openSync(join(workspace, name), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
      try {
        const stats = fstatSync(fd);
        if (!stats.isFile()) return undefined;
        const buffer = Buffer.alloc(Math.min(stats.size, MAX_BYTES));
        return buffer.toString("utf8", 0, readSync(fd, buffer, 0, buffer.length, 0));
      } finally {
        closeSync(fd);
      }
    } catch {
      return undefined;
    }
  };
