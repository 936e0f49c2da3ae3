/** Every tool of a node, put together: those that reach other agents, those that have children, those that make schedules. */

import type { AgentsWorld } from "../../adapters/tools/agents/agent-tool-deps.ts";
import { agentTools, olderAgentTools } from "../../adapters/tools/agents/agent-tools.ts";
import { cronTaskTools } from "../../adapters/tools/schedules/cron-task-tools.ts";
import { cronTool } from "../../adapters/tools/schedules/cron-tool.ts";
import { heartbeatTools } from "../../adapters/tools/schedules/heartbeat-tools.ts";
import type { Tool } from "../../core/ports/tool.ts";
import type { Triggers } from "../../engine/triggers/triggers.ts";
import { type Hands, type HandsOptions, openHands } from "./create-toolkit.ts";
import { subagentTools } from "./subagent-tools.ts";

export interface ToolWorlds {
  readonly agents: AgentsWorld;
  readonly children: Parameters<typeof subagentTools>;
  readonly triggers: Pick<Triggers, "cron" | "heartbeat">;
}

export function loadHands({ agents, children, triggers }: ToolWorlds, options: HandsOptions): Hands {
  const schedules = [
    cronTool(triggers.cron),
    ...cronTaskTools(triggers.cron),
    ...heartbeatTools(triggers.heartbeat),
  ] as readonly Tool[];
  return openHands({
    ...options,
    more: [...agentTools(agents), ...subagentTools(...children), ...schedules],
    older: olderAgentTools(agents),
  });
}
