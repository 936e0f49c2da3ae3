/** The tree of agents, to read, and the agents in it that change. */
import type { AgentTree, TreeOptions } from "../../core/agent/agent-tree.ts";
import { errorText } from "../../core/errors.ts";
import type { AgentId } from "../../core/ids.ts";
import type { Ports } from "../../core/ports/ports.ts";
import type { RunEvents } from "../runtime/run-events.ts";
import { readTree } from "./read-tree.ts";

/** Which agents changed since the last call. `all`: too many to list; read the whole tree again. */
export interface TreeChange {
  readonly agents: readonly AgentId[];
  readonly all: boolean;
}

type TreeListener = (change: TreeChange) => void;

const COALESCE_MS = 100;
const MAX_NAMED = 500;

/**
 * The tree of agents, to read and to follow. Changes within a short time reach the listeners together; without listeners
 * nothing is kept and no timer runs.
 */
export class LiveTree {
  readonly #ports: Pick<Ports, "store" | "clock" | "log">;
  readonly #events: RunEvents;
  readonly #listeners = new Set<TreeListener>();
  readonly #changed = new Set<AgentId>();
  #cancel: (() => void) | undefined;
  #stopRuns: (() => void) | undefined;

  constructor(ports: Pick<Ports, "store" | "clock" | "log">, events: RunEvents) {
    this.#ports = ports;
    this.#events = events;
  }

  /** Which agent started which, the state of each and what it has used. Bounded; costs what it shows. */
  read(options?: TreeOptions): Promise<AgentTree> {
    return readTree(this.#ports.store, this.#ports.clock.now(), options);
  }

  /** Calls the listener with the agents of this node that changed in the tree. Returns how to stop. */
  onChange(listener: TreeListener): () => void {
    this.#listeners.add(listener);
    this.#stopRuns ??= this.#events.listenToOwn(({ type, agentId }) => {
      if (type === "start" || type === "restart" || type === "end") this.changed(agentId);
    });
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size > 0) return;
      this.#stopRuns?.();
      this.#stopRuns = undefined;
      this.#cancel?.();
      this.#cancel = undefined;
      this.#changed.clear();
    };
  }

  changed(agentId: AgentId): void {
    if (this.#listeners.size === 0) return;
    this.#changed.add(agentId);
    this.#cancel ??= this.#ports.clock.after(COALESCE_MS, () => this.#notify());
  }

  #notify(): void {
    this.#cancel = undefined;
    const all = this.#changed.size > MAX_NAMED;
    const change: TreeChange = { agents: all ? [] : [...this.#changed], all };
    this.#changed.clear();
    for (const listener of this.#listeners) {
      try {
        listener(change);
      } catch (error) {
        this.#ports.log.warn("a listener of the tree failed", { error: errorText(error) });
      }
    }
  }
}
