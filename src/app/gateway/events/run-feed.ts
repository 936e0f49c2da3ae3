/**
 * Hands run events to whoever follows an agent, on whichever node it runs, and keeps the tail of every run under way: of
 * those that run here, and of others while somebody here follows them.
 */
import type { AgentId } from "../../../core/ids.ts";
import { type RunTail, RunTails } from "../../../engine/runs/run-tails.ts";
import type { RunEvent, RunEvents, RunListener } from "../../../engine/runtime/run-events.ts";
import type { RemoteNodes } from "../../node/relay/relay-events.ts";

interface Followers {
  readonly listeners: Set<RunListener>;
  /** Stops following what runs on other nodes. */
  readonly leave: (() => void) | undefined;
}

export class RunFeed {
  readonly #followers = new Map<AgentId, Followers>();
  readonly #own = new Set<RunListener>();
  readonly #tails = new RunTails();
  readonly #tailsElsewhere = new RunTails();
  readonly #remoteNodes: RemoteNodes | undefined;
  readonly #stop: readonly (() => void)[];

  constructor(events: RunEvents, remoteNodes?: RemoteNodes) {
    this.#remoteNodes = remoteNodes;
    this.#stop = [
      events.listenToOwn((event) => {
        this.#tails.add(event);
        // Taken over from another node: what that one had said is void.
        this.#tailsElsewhere.forget(event.agentId);
        this.#told(event);
        for (const listener of this.#own) listener(event);
      }),
      events.listenToPassed((event) => {
        this.#tailsElsewhere.add(event);
        this.#told(event);
      }),
    ];
  }

  /** Whether agents may run on other nodes too. */
  get isShared(): boolean {
    return this.#remoteNodes !== undefined;
  }

  follow(agentId: AgentId, listener: RunListener): () => void {
    const known = this.#followers.get(agentId) ?? {
      listeners: new Set<RunListener>(),
      leave: this.#remoteNodes?.follow(agentId),
    };
    this.#followers.set(agentId, known);
    known.listeners.add(listener);
    return () => {
      if (!known.listeners.delete(listener) || known.listeners.size > 0) return;
      this.#followers.delete(agentId);
      known.leave?.();
      this.#tailsElsewhere.forget(agentId);
    };
  }

  /** Every event of runs on this node. */
  followOwn(listener: RunListener): () => void {
    this.#own.add(listener);
    return () => this.#own.delete(listener);
  }

  /** What the run under way at an agent has said since its last commit; on another node only while it is followed. */
  tailOf(agentId: AgentId): RunTail | undefined {
    return this.#tails.of(agentId) ?? this.#tailsElsewhere.of(agentId);
  }

  close(): void {
    for (const stop of this.#stop) stop();
    for (const { leave } of this.#followers.values()) leave?.();
    this.#followers.clear();
    this.#own.clear();
    this.#tails.clear();
    this.#tailsElsewhere.clear();
  }

  #told(event: RunEvent): void {
    for (const listener of this.#followers.get(event.agentId)?.listeners ?? []) listener(event);
  }
}
