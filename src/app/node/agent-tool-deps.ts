/** Gives the tools that reach other agents their world: the store, and the engine that is there only after its tools are. */

import type { AgentToolDeps } from "../../adapters/tools/agents/agent-tool-deps.ts";
import type { Ports } from "../../core/ports/ports.ts";
import type { AgentSystem } from "../../engine/agents/agent-system.ts";
import { removeSwarmOps } from "../../engine/agents/remove-swarm.ts";
import type { SystemAgent } from "../../engine/agents/system-agents.ts";
import { seedAgent } from "../../engine/context/seed-agent.ts";
import { permissionsOf } from "../../engine/subagents/permissions.ts";
import type { SubagentSettings } from "../../engine/subagents/settings.ts";

/** How long a question is known again after its run was cut off. */
const REPLAY_MS = 7 * 24 * 3600_000;

export interface AgentsWorldParts extends Pick<Ports, "store" | "clock" | "ids" | "files"> {
  readonly config: AgentToolDeps["config"];
  readonly system: () => AgentSystem;
  readonly systemAgents?: ReadonlyMap<string, SystemAgent>;
  readonly subagents?: Pick<SubagentSettings, "allowAgents">;
  readonly workspaceFor?: AgentToolDeps["workspaceFor"];
  readonly shards?: AgentToolDeps["shards"];
}

export function agentToolDepsOf(parts: AgentsWorldParts): AgentToolDeps {
  const { store, clock, ids, files, config, system, systemAgents = new Map<string, SystemAgent>() } = parts;
  return {
    store,
    clock,
    files,
    config,
    shards: parts.shards,
    systemAgents: [...systemAgents.values()].map(({ tag, description }) => ({ tag, description })),
    maySpawnAs(agent, profile) {
      const listed = parts.subagents?.allowAgents(agent.profile).map((name) => name.trim()) ?? [];
      return listed.includes("*") || listed.includes(profile);
    },
    workspaceFor: parts.workspaceFor ?? (async () => undefined),
    permissionsOf: (tags, { state }) => permissionsOf(tags, state.permissions),
    newAgentId: () => ids.agent(),
    seed(descriptor, profile, about = {}) {
      const seed = seedAgent(ids, descriptor, clock.now(), profile);
      return { ...seed, id: about.id ?? seed.id, state: { ...seed.state, ...about.state } };
    },
    ask: ({ from, to, body, key, timeoutMs, signal, also }) =>
      system().postAndAwait(
        { to, body, key, replayHorizonMs: REPLAY_MS, also },
        { from, timeoutMs, signal, edge: key, sinceAccepted: true },
      ),
    removeSwarm: (nametag, by) => removeSwarmOps(store, nametag, by, clock.now()),
    diagnose: () => system().diagnose(),
  };
}
