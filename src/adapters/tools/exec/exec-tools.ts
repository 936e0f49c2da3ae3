/** The tools for commands: `exec` and `process`. */
import type { Tool } from "../../../core/ports/tool.ts";
import type { ExecDeps } from "./exec-deps.ts";
import { execTool } from "./exec-tool.ts";
import { processTool } from "./process-tool.ts";

export const execTools = (deps: ExecDeps): readonly Tool[] => [execTool(deps), processTool(deps)] as readonly Tool[];
