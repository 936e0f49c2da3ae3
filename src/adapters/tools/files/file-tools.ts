/**
 * The file tools: read, write, edit, patch, list, search and find inside the workspace. Real paths are checked on the open file, sizes are limited,
 * and a write is complete or does not happen.
 */
import type { Tool } from "../../../core/ports/tool.ts";
import { applyPatchTool } from "./apply-patch-tool.ts";
import { type Disk, realDisk } from "./disk.ts";
import { editTool } from "./edit-tool.ts";
import { keepsNothing } from "./file-changes.ts";
import { noMarks } from "./file-marks.ts";
import type { FileToolDeps } from "./file-tool-deps.ts";
import { findTool } from "./find-tool.ts";
import { grepTool } from "./grep-tool.ts";
import { listTool } from "./list-tool.ts";
import { readTool } from "./read-tool.ts";
import { sendFileTool } from "./send-file-tool.ts";
import { writeTool } from "./write-tool.ts";

/** `marks` and `changes`: default none. */
type FileToolParts = Omit<FileToolDeps, "disk" | "marks" | "changes"> &
  Partial<Pick<FileToolDeps, "marks" | "changes">>;

export function fileTools(parts: FileToolParts, disk: Disk = realDisk): readonly Tool[] {
  const deps = { ...parts, marks: parts.marks ?? noMarks, changes: parts.changes ?? keepsNothing, disk };
  const sending = deps.stored ? [sendFileTool(deps, deps.stored)] : [];
  return [
    readTool(deps),
    writeTool(deps),
    editTool(deps),
    applyPatchTool(deps),
    listTool(deps),
    grepTool(deps),
    findTool(deps),
    ...sending,
  ] as readonly Tool[];
}
