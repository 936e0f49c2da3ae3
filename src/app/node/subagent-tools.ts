/** The tools by which agents have children. */

import { createSessionsSpawnTool, startBackgroundAgentTool } from "../../adapters/tools/subagents/spawn-tools.ts";
import { subagentsTool } from "../../adapters/tools/subagents/subagents-tool.ts";
import type { Ports } from "../../core/ports/ports.ts";
import type { Tool } from "../../core/ports/tool.ts";
import type { AgentSystem } from "../../engine/agents/agent-system.ts";

/** `system`: asked for when a tool is called, for it is made after its tools. */
export function subagentTools(system: () => AgentSystem, ports: Pick<Ports, "store" | "clock">): readonly Tool[] {
  const subagents = () => system().subagents;
  return [
    createSessionsSpawnTool(subagents),
    startBackgroundAgentTool(subagents),
    subagentsTool(subagents, ports),
  ] as Tool[];
}
