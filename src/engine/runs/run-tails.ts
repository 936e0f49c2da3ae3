/** The tail of every live run, by agent: its events since the last commit. A run that has ended has none. */
import type { AgentId, RunId } from "../../core/ids.ts";
import type { RunEvent } from "../runtime/run-events.ts";
import { Tail } from "./tail.ts";

export interface RunTail {
  readonly runId: RunId;
  readonly tail: Tail;
}

export class RunTails {
  readonly #tails = new Map<AgentId, RunTail>();

  of(agentId: AgentId): RunTail | undefined {
    return this.#tails.get(agentId);
  }

  add(event: RunEvent): void {
    const { agentId, runId } = event;
    if (event.type === "end") {
      this.#tails.delete(agentId);
      return;
    }
    let known = this.#tails.get(agentId);
    if (known?.runId !== runId) {
      // A background compaction after a run's end emits events of that run. They do not begin a tail.
      if (event.type === "compaction_start" || event.type === "compaction_end") return;
      known = { runId, tail: new Tail() };
      this.#tails.set(agentId, known);
    }
    known.tail.add(event);
  }

  forget(agentId: AgentId): void {
    this.#tails.delete(agentId);
  }

  clear(): void {
    this.#tails.clear();
  }
}
