/** Every tool of a node, put together: those that reach other agents, those that have children, those that make schedules. */

import type { AgentToolDeps } from "../../adapters/tools/agents/agent-tool-deps.ts";
import { agentTools, olderAgentTools } from "../../adapters/tools/agents/agent-tools.ts";
import { cronTaskTools } from "../../adapters/tools/schedules/cron-task-tools.ts";
import { cronTool } from "../../adapters/tools/schedules/cron-tool.ts";
import { heartbeatTools } from "../../adapters/tools/schedules/heartbeat-tools.ts";
import type { Tool } from "../../core/ports/tool.ts";
import type { Triggers } from "../../engine/triggers/triggers.ts";
import { createToolkit, type Toolkit, type ToolkitOptions } from "./create-toolkit.ts";
import { subagentTools } from "./subagent-tools.ts";

export interface ToolDeps {
  readonly agents: AgentToolDeps;
  readonly children: Parameters<typeof subagentTools>;
  readonly triggers: Pick<Triggers, "cron" | "heartbeat">;
}

export function loadToolkit({ agents, children, triggers }: ToolDeps, options: ToolkitOptions): Toolkit {
  const schedules = [
    cronTool(triggers.cron),
    ...cronTaskTools(triggers.cron),
    ...heartbeatTools(triggers.heartbeat),
  ] as readonly Tool[];
  return createToolkit({
    ...options,
    more: [...agentTools(agents), ...subagentTools(...children), ...schedules],
    older: olderAgentTools(agents),
  });
}
