/** Hands run events to whoever follows an agent, a run or everything, and keeps the tail of every run under way. */
import type { AgentId, RunId } from "../../core/ids.ts";
import type { RunEvent, RunEvents, RunListener } from "../../runs/events.ts";
import { Tail } from "./tail.ts";

export class RunFeed {
  readonly #followers = new Map<AgentId, Set<RunListener>>();
  readonly #all = new Set<RunListener>();
  readonly #tails = new Map<AgentId, { readonly runId: RunId; readonly tail: Tail }>();
  readonly #stop: () => void;

  constructor(events: RunEvents) {
    this.#stop = events.listen((event) => this.#told(event));
  }

  follow(agentId: AgentId, listener: RunListener): () => void {
    const followers = this.#followers.get(agentId) ?? new Set();
    this.#followers.set(agentId, followers);
    followers.add(listener);
    return () => {
      followers.delete(listener);
      if (followers.size === 0 && this.#followers.get(agentId) === followers) this.#followers.delete(agentId);
    };
  }

  followAll(listener: RunListener): () => void {
    this.#all.add(listener);
    return () => this.#all.delete(listener);
  }

  /** What the run under way at an agent has said since its last commit. */
  tailOf(agentId: AgentId): { readonly runId: RunId; readonly tail: Tail } | undefined {
    return this.#tails.get(agentId);
  }

  close(): void {
    this.#stop();
    this.#followers.clear();
    this.#all.clear();
    this.#tails.clear();
  }

  #told(event: RunEvent): void {
    const { agentId, runId } = event;
    if (event.type === "end") this.#tails.delete(agentId);
    else {
      let known = this.#tails.get(agentId);
      if (known?.runId !== runId) {
        known = { runId, tail: new Tail() };
        this.#tails.set(agentId, known);
      }
      known.tail.add(event);
    }
    for (const listener of this.#followers.get(agentId) ?? []) listener(event);
    for (const listener of this.#all) listener(event);
  }
}
