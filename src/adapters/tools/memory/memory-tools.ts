/** The tools of memory. */
import type { Tool } from "../../../core/ports/tool.ts";
import type { MemoryDeps } from "./memory-deps.ts";
import { memoryGetTool } from "./memory-get-tool.ts";
import { memorySearchTool } from "./memory-search-tool.ts";

export const memoryTools = (deps: MemoryDeps): readonly Tool[] =>
  [memorySearchTool(deps), memoryGetTool(deps)] as readonly Tool[];
