/** People who stop agents with all they have started, or remove them, through the program's own interface, at any moment. */
import type { AgentId } from "../../../src/core/ids.ts";
import type { AbortsWorld } from "./aborts.ts";

export interface TreeStops {
  /** Stops some agent, mostly one that has children at work. */
  stop(): Promise<void>;
  /** Removes some child for ever. */
  remove(): Promise<void>;
}

export function makeTreeStops({ random, log, backend, living }: AbortsWorld): TreeStops {
  async function someAgent(): Promise<AgentId | undefined> {
    const agents = await backend.reader.agents({ limit: 1_000 });
    const parents = new Set(
      agents.flatMap(({ descriptor, runId }) =>
        descriptor.type === "subagent" && runId ? [descriptor.parentAgentId] : [],
      ),
    );
    const busy = agents.filter(({ id }) => parents.has(id));
    const pool = busy.length > 0 && random.chance(0.8) ? busy : agents;
    return pool.length === 0 ? undefined : random.pick(pool).id;
  }

  /** A child, mostly one that has children of its own at work. */
  async function someChild(): Promise<AgentId | undefined> {
    const agents = await backend.reader.agents({ limit: 1_000 });
    const children = agents.filter(({ descriptor }) => descriptor.type === "subagent");
    const parents = new Set(
      children.flatMap(({ descriptor, runId }) =>
        descriptor.type === "subagent" && runId ? [descriptor.parentAgentId] : [],
      ),
    );
    const busy = children.filter(({ id }) => parents.has(id));
    const pool = busy.length > 0 && random.chance(0.9) ? busy : children;
    return pool.length === 0 ? undefined : random.pick(pool).id;
  }

  async function ask(what: "stop" | "remove", agentId: AgentId | undefined): Promise<void> {
    const able = living().filter(({ process, subject }) => process.state === "up" && subject?.[what]);
    if (agentId === undefined || able.length === 0) return;
    const { process, subject } = random.pick(able);
    log.write(process.name, `is asked to ${what} ${agentId}`);
    process.enter(() => {
      // Whether it was heard is seen by what was applied; a store that does not answer is no answer.
      subject?.[what]?.(agentId).catch(() => undefined);
    });
  }

  return { stop: async () => ask("stop", await someAgent()), remove: async () => ask("remove", await someChild()) };
}
