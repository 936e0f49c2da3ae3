/**
 * What this process has read of agents, kept for those who must answer at once who an agent is (tools and prompts). Every
 * agent is read from the store before it works here, so whoever works is known.
 */
import type { AgentRecord } from "../core/agent.ts";
import type { AgentDescriptor } from "../core/descriptor.ts";
import type { AgentId } from "../core/ids.ts";
import type { AgentState } from "../core/state.ts";
import type { Store } from "../core/store.ts";

export interface KnownAgent {
  readonly profile: string;
  readonly descriptor: AgentDescriptor;
  readonly permissions: AgentState["permissions"];
}

/** Far more than are kept in memory while they rest. */
const MOST = 20_000;

export class KnownAgents {
  readonly #known = new Map<AgentId, KnownAgent>();
  readonly #most: number;

  constructor(most = MOST) {
    this.#most = most;
  }

  remember({ id, profile, descriptor, state }: AgentRecord): void {
    this.#known.delete(id);
    this.#known.set(id, { profile, descriptor, permissions: state.permissions });
    const [oldest] = this.#known.keys();
    if (this.#known.size > this.#most && oldest !== undefined) this.#known.delete(oldest);
  }

  get(id: AgentId): KnownAgent | undefined {
    const known = this.#known.get(id);
    if (known) {
      // Asked for is as good as read: who works is never the oldest.
      this.#known.delete(id);
      this.#known.set(id, known);
    }
    return known;
  }

  /** The same store; what is read of single agents is remembered. */
  reading(store: Store): Store {
    const agent: Store["agent"] = async (id) => {
      const record = await store.agent(id);
      if (record) this.remember(record);
      return record;
    };
    // Whatever kind of object the store is, its methods are called on it.
    return new Proxy(store, {
      get(target, name) {
        if (name === "agent") return agent;
        const value: unknown = Reflect.get(target, name);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
  }
}
