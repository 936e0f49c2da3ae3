/** People who stop or remove agents together with everything these agents started. */
import type { AgentRecord } from "../../../src/core/agent/agent.ts";
import type { AgentId } from "../../../src/core/ids.ts";
import { type AskDeps, askNode } from "./ask-node.ts";

export interface TreeStops {
  /** Stops some agent, mostly one with running children. */
  stop(): Promise<void>;
  /** Removes some child permanently, mostly one that has running children. */
  remove(): Promise<void>;
}

export function makeTreeStops(deps: AskDeps): TreeStops {
  const { random, backend } = deps;

  /** One of these agents, mostly one with running children. */
  function pick(agents: readonly AgentRecord[], chanceOfParent: number): AgentId | undefined {
    const parents = new Set(
      agents.flatMap(({ descriptor, runId }) =>
        descriptor.type === "subagent" && runId ? [descriptor.parentAgentId] : [],
      ),
    );
    const busy = agents.filter(({ id }) => parents.has(id));
    const pool = busy.length > 0 && random.chance(chanceOfParent) ? busy : agents;
    return pool.length === 0 ? undefined : random.pick(pool).id;
  }

  // The auditor reads from the applied changes whether a request took effect; an error does not tell.
  function ask(what: "stop" | "remove", agentId: AgentId | undefined): void {
    if (agentId === undefined) return;
    askNode(deps, what, { about: `${what} ${agentId}`, ask: (subject) => subject[what](agentId) });
  }

  return {
    async stop() {
      ask("stop", pick(await backend.reader.agents({ limit: 1_000 }), 0.8));
    },
    async remove() {
      const agents = await backend.reader.agents({ limit: 1_000 });
      const children = agents.filter(({ descriptor }) => descriptor.type === "subagent");
      ask("remove", pick(children, 0.9));
    },
  };
}
