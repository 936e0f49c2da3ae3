/** The tools an agent starts and controls subagents with. */

import type { Ports } from "../../../core/ports/ports.ts";
import type { Tool } from "../../../core/ports/tool.ts";
import type { AgentSystem } from "../../../engine/agents/agent-system.ts";
import { createSessionsSpawnTool, startBackgroundAgentTool } from "./spawn-tools.ts";
import { subagentsTool } from "./subagents-tool.ts";

/** `system` is called when a tool runs, never before: tools may be created before the engine. */
export function subagentTools(system: () => AgentSystem, ports: Pick<Ports, "store" | "clock">): readonly Tool[] {
  const subagents = () => system().subagents;
  return [
    createSessionsSpawnTool(subagents),
    startBackgroundAgentTool(subagents),
    subagentsTool(subagents, ports),
  ] as Tool[];
}
