/**
 * Tells listeners which agents have changed in the tree. Changes that come together are told together, a moment later; while
 * nobody listens nothing is kept and no timer runs.
 */

import { errorText } from "../../core/errors.ts";
import type { AgentId } from "../../core/ids.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { Log } from "../../core/ports/log.ts";

/** Which agents changed since the last telling. `all`: more than are worth naming; read the tree anew. */
export interface TreeChange {
  readonly agents: readonly AgentId[];
  readonly all: boolean;
}

export type TreeListener = (change: TreeChange) => void;

const COALESCE_MS = 100;
const MAX_NAMED = 500;

export class TreeWatch {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #listeners = new Set<TreeListener>();
  readonly #changed = new Set<AgentId>();
  #cancel: (() => void) | undefined;

  constructor(clock: Clock, log: Log) {
    this.#clock = clock;
    this.#log = log;
  }

  /** Returns how to stop listening. */
  listen(listener: TreeListener): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size > 0) return;
      this.#cancel?.();
      this.#cancel = undefined;
      this.#changed.clear();
    };
  }

  changed(agentId: AgentId): void {
    if (this.#listeners.size === 0) return;
    this.#changed.add(agentId);
    this.#cancel ??= this.#clock.after(COALESCE_MS, () => this.#tell());
  }

  #tell(): void {
    this.#cancel = undefined;
    const all = this.#changed.size > MAX_NAMED;
    const change: TreeChange = { agents: all ? [] : [...this.#changed], all };
    this.#changed.clear();
    for (const listener of this.#listeners) {
      try {
        listener(change);
      } catch (error) {
        this.#log.warn("a listener of the tree failed", { error: errorText(error) });
      }
    }
  }
}
