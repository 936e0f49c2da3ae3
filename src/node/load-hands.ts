/** Every tool of a node, put together: those that reach other agents, those that have children, those that make schedules. */

import type { Tool } from "../core/tool.ts";
import { agentTools, olderAgentTools } from "../tools/agents/agent-tools.ts";
import type { AgentsWorld } from "../tools/agents/agents-world.ts";
import { cronTaskTools } from "../tools/cron/cron-task-tools.ts";
import { cronTool } from "../tools/cron/cron-tool.ts";
import { heartbeatTools } from "../tools/cron/heartbeat-tools.ts";
import type { Triggers } from "../triggers/triggers.ts";
import { type Hands, type HandsOptions, openHands } from "./open-hands.ts";
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
