/** The tools by which agents have children. */
import type { AgentSystem } from "../agents/agent-system.ts";
import { createSessionsSpawnTool, startBackgroundAgentTool } from "../agents/subagents/spawn-tools.ts";
import { subagentsTool } from "../agents/subagents/subagents-tool.ts";
import type { Ports } from "../core/ports.ts";
import type { Tool } from "../core/tool.ts";

/** `system`: asked for when a tool is called, for it is made after its tools. */
export function subagentTools(system: () => AgentSystem, ports: Pick<Ports, "store" | "clock">): readonly Tool[] {
  const subagents = () => system().subagents;
  return [
    createSessionsSpawnTool(subagents),
    startBackgroundAgentTool(subagents),
    subagentsTool(subagents, ports),
  ] as Tool[];
}
