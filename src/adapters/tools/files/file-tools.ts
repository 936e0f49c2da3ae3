/**
 * The file tools: read, write, edit and list inside the workspace. Real paths are checked on the open file, sizes are limited,
 * and a write is complete or does not happen.
 */
import type { Tool } from "../../../core/ports/tool.ts";
import { type Disk, realDisk } from "./disk.ts";
import { editTool } from "./edit-tool.ts";
import type { FileToolDeps } from "./file-tool-deps.ts";
import { listTool } from "./list-tool.ts";
import { readTool } from "./read-tool.ts";
import { writeTool } from "./write-tool.ts";

export function fileTools(parts: Omit<FileToolDeps, "disk">, disk: Disk = realDisk): readonly Tool[] {
  const deps = { ...parts, disk };
  return [readTool(deps), writeTool(deps), editTool(deps), listTool(deps)];
}
