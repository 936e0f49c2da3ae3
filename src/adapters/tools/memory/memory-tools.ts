/** The tools of memory. Those that read need the index; `memory_write` needs a home that keeps changes. */
import type { Tool } from "../../../core/ports/tool.ts";
import type { MemoryDeps } from "./memory-deps.ts";
import { memoryGetTool } from "./memory-get-tool.ts";
import { memorySearchTool } from "./memory-search-tool.ts";
import { type MemoryWriteDeps, memoryWriteTool } from "./memory-write-tool.ts";

export const memoryTools = (deps: MemoryDeps, writes?: MemoryWriteDeps): readonly Tool[] =>
  [memorySearchTool(deps), memoryGetTool(deps), ...(writes ? [memoryWriteTool(writes)] : [])] as readonly Tool[];
