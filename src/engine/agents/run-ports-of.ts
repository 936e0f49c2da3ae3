/** What the runs of a node act through: its ports, its settings, and what children and others add to a run's commits. */

import type { Ports } from "../../core/ports/ports.ts";
import type { Emit } from "../engine-event.ts";
import type { Outbox } from "../outbox/outbox.ts";
import type { RunEvents } from "../runtime/run-events.ts";
import { DEFAULT_RUN_SETTINGS, type RunPorts } from "../runtime/run-ports.ts";
import { answerSubagentsCommand } from "../subagents/chat-command.ts";
import type { Subagents } from "../subagents/subagents.ts";
import type { AgentSystemOptions } from "./agent-system-options.ts";

/** For so many leases nodes that fell silent are expected back before a run is failed for them (M13). */
const SILENT_LEASES = 4;

export interface RunSurroundings {
  readonly events: RunEvents;
  readonly subagents: Subagents;
  readonly outbox: Pick<Outbox, "offer">;
  readonly emit: Emit;
}

export function runPortsOf(ports: Ports, options: AgentSystemOptions, around: RunSurroundings): RunPorts {
  const { hooks, leaseMs = 0 } = options;
  const { subagents } = around;
  return {
    ...ports,
    settings: { ...DEFAULT_RUN_SETTINGS, silenceMs: SILENT_LEASES * leaseMs, ...options.runs },
    events: around.events,
    ...hooks,
    resolveModel: options.resolveModel,
    sendPolicy: options.sendPolicy,
    limits: options.limits,
    contextLimits: options.contextLimits,
    // Read each time: they change while the program runs.
    get budgets() {
      return options.budgets;
    },
    opsOnRunEnd: async (agent, run, result, deliveries) => [
      ...(await subagents.opsOnRunEnd(agent, run, result)),
      ...((await hooks?.opsOnRunEnd?.(agent, run, result, deliveries)) ?? []),
    ],
    opsOnSettle: async (agent, messages, reason) => [
      ...(await subagents.opsOnSettle(agent, messages, reason)),
      ...((await hooks?.opsOnSettle?.(agent, messages, reason)) ?? []),
    ],
    stopChildren: (agent) => subagents.stopChildren(agent),
    aboutChildren: (agent, command) => answerSubagentsCommand(ports, subagents, agent, command),
    onDeliveries: (deliveries, results) => around.outbox.offer(deliveries, results),
    posted: (messages) => {
      for (const posted of messages) around.emit({ type: "posted", posted });
    },
  };
}
