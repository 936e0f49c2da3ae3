/**
 * Distributes run events to subscribers by agent, whichever node the agent runs on. Keeps the tail of every current run:
 * of all runs on this node, and of runs on other nodes while a subscriber here follows them.
 */
import type { AgentId } from "../../../core/ids.ts";
import type { RemoteNodes } from "../../../engine/cluster/relay-events.ts";
import { type RunTail, RunTails } from "../../../engine/runs/run-tails.ts";
import type { RunEvent, RunEvents, RunListener } from "../../../engine/runtime/run-events.ts";

interface Subscribers {
  readonly listeners: Set<RunListener>;
  /** Ends the subscription at the other nodes. */
  readonly leaveRemote: (() => void) | undefined;
}

export class RunEventHub {
  readonly #subscribers = new Map<AgentId, Subscribers>();
  readonly #localSubscribers = new Set<RunListener>();
  readonly #localTails = new RunTails();
  readonly #remoteTails = new RunTails();
  readonly #remoteNodes: RemoteNodes | undefined;
  readonly #stop: readonly (() => void)[];

  constructor(events: RunEvents, remoteNodes?: RemoteNodes) {
    this.#remoteNodes = remoteNodes;
    this.#stop = [
      events.listenToOwn((event) => {
        this.#localTails.add(event);
        // This node has taken the agent over: the tail of the earlier node is void.
        this.#remoteTails.forget(event.agentId);
        this.#publish(event);
        for (const listener of this.#localSubscribers) listener(event);
      }),
      events.listenToPassed((event) => {
        this.#remoteTails.add(event);
        this.#publish(event);
      }),
    ];
  }

  /** Whether agents may run on other nodes too. */
  get isShared(): boolean {
    return this.#remoteNodes !== undefined;
  }

  /** Returns a function that unsubscribes. */
  subscribe(agentId: AgentId, listener: RunListener): () => void {
    const known = this.#subscribers.get(agentId) ?? {
      listeners: new Set<RunListener>(),
      leaveRemote: this.#remoteNodes?.follow(agentId),
    };
    this.#subscribers.set(agentId, known);
    known.listeners.add(listener);
    return () => {
      if (!known.listeners.delete(listener) || known.listeners.size > 0) return;
      this.#subscribers.delete(agentId);
      known.leaveRemote?.();
      this.#remoteTails.forget(agentId);
    };
  }

  /** Every event of the runs on this node. Returns a function that unsubscribes. */
  subscribeLocal(listener: RunListener): () => void {
    this.#localSubscribers.add(listener);
    return () => this.#localSubscribers.delete(listener);
  }

  /** The events of the agent's current run since its last commit. For a run on another node only while subscribed. */
  tailOf(agentId: AgentId): RunTail | undefined {
    return this.#localTails.of(agentId) ?? this.#remoteTails.of(agentId);
  }

  close(): void {
    for (const stop of this.#stop) stop();
    for (const { leaveRemote } of this.#subscribers.values()) leaveRemote?.();
    this.#subscribers.clear();
    this.#localSubscribers.clear();
    this.#localTails.clear();
    this.#remoteTails.clear();
  }

  #publish(event: RunEvent): void {
    for (const listener of this.#subscribers.get(event.agentId)?.listeners ?? []) listener(event);
  }
}
