/** Gives the tools that reach other agents their world: the store, and the engine that is there only after its tools are. */
import type { AgentSystem } from "../agents/agent-system.ts";
import { seedAgent } from "../agents/seed-agent.ts";
import type { Ports } from "../core/ports.ts";
import type { AgentsWorld } from "../tools/agents/agents-world.ts";

/** How long a question is known again after its run was cut off. */
const REPLAY_MS = 7 * 24 * 3600_000;

export interface AgentsWorldParts extends Pick<Ports, "store" | "clock" | "ids" | "files"> {
  readonly config: AgentsWorld["config"];
  readonly system: () => AgentSystem;
  readonly maySpawnAs?: AgentsWorld["maySpawnAs"];
}

export function agentsWorldOf({ store, clock, ids, files, config, system, maySpawnAs }: AgentsWorldParts): AgentsWorld {
  return {
    store,
    clock,
    files,
    config,
    maySpawnAs: maySpawnAs ?? (() => false),
    seed: (descriptor, profile) => seedAgent(ids, descriptor, clock.now(), profile),
    ask: ({ from, to, body, key, timeoutMs, signal }) =>
      system().postAndAwait(
        { to, body, key, replayHorizonMs: REPLAY_MS },
        { from, timeoutMs, signal, edge: key, sinceAccepted: true },
      ),
  };
}
