/**
 * Numbers what happens to the tree of agents (agents change, runs start and end) and keeps the latest events, so that a
 * reader that reconnects gets what it missed. A reader that was away longer has to read the whole tree again.
 */
import { randomUUID } from "node:crypto";
import type { Clock } from "../../../core/ports/clock.ts";
import type { RemoteNodes } from "../../../engine/cluster/relay-events.ts";
import type { RunEvent } from "../../../engine/runtime/run-events.ts";
import type { LiveTree } from "../../../engine/subagents/live-tree.ts";
import type { RunEventHub } from "./run-event-hub.ts";

export interface TreeEvent {
  readonly n: number;
  readonly data: object;
  readonly type: string;
}

const MAX_KEPT = 1_000;
/** How long the subscription at other nodes outlives the last reader, which may reconnect. */
const LINGER_MS = 30_000;
/** Text and tool events are only for readers of one agent. */
const LOGGED: readonly RunEvent["type"][] = ["start", "restart", "step", "approval", "end", "error"];

export class TreeEventLog {
  /** Part of every id: numbers of an earlier process are not valid here. */
  readonly #logId = randomUUID().slice(0, 8);
  readonly #subscribers = new Set<(event: TreeEvent) => void>();
  #events: TreeEvent[] = [];
  #lastNumber = 0;
  readonly #clock: Clock;
  readonly #remoteNodes: RemoteNodes | undefined;
  #leaveRemote: (() => void) | undefined;
  #cancelLinger: (() => void) | undefined;

  constructor(runEvents: RunEventHub, tree: Pick<LiveTree, "onChange">, clock: Clock, remoteNodes?: RemoteNodes) {
    this.#clock = clock;
    this.#remoteNodes = remoteNodes;
    tree.onChange((change) => this.#add("changed", { type: "changed", ...change }));
    runEvents.subscribeLocal((event) => {
      if (!LOGGED.includes(event.type)) return;
      const { type, agentId, runId, attempt, step, seq } = event;
      const outcome = event.type === "end" ? event.result.outcome : undefined;
      this.#add(type, { type, agentId, runId, attempt, step, seq, outcome });
    });
  }

  /** The id of the latest event. */
  get lastId(): string {
    return this.#idOf(this.#lastNumber);
  }

  idOf({ n }: TreeEvent): string {
    return this.#idOf(n);
  }

  /** Returns a function that unsubscribes. */
  subscribe(listener: (event: TreeEvent) => void): () => void {
    this.#subscribers.add(listener);
    this.#subscribeRemote();
    return () => {
      if (!this.#subscribers.delete(listener) || this.#subscribers.size > 0 || !this.#leaveRemote) return;
      this.#cancelLinger ??= this.#clock.after(LINGER_MS, () => this.close());
    };
  }

  /** The events after an id; undefined if they are no longer kept, or the id is not of this log. */
  after(id: string | undefined): readonly TreeEvent[] | undefined {
    const match = /^([0-9a-f]{8})-(\d{1,15})$/.exec(id ?? "");
    if (match?.[1] !== this.#logId) return undefined;
    const n = Number(match[2]);
    const oldest = this.#events[0]?.n ?? this.#lastNumber + 1;
    return n + 1 < oldest || n > this.#lastNumber ? undefined : this.#events.filter((event) => event.n > n);
  }

  /** Ends the subscription at other nodes. */
  close(): void {
    this.#cancelLinger?.();
    this.#cancelLinger = undefined;
    if (!this.#leaveRemote) return;
    this.#leaveRemote();
    this.#leaveRemote = undefined;
    // Events of other nodes are missing from here on: earlier ids must lead to a new tree.
    this.#lastNumber += 1;
    this.#events = [];
  }

  #subscribeRemote(): void {
    this.#cancelLinger?.();
    this.#cancelLinger = undefined;
    if (this.#leaveRemote || !this.#remoteNodes) return;
    this.#leaveRemote = this.#remoteNodes.followTree({
      event: (event) => this.#add(event.type, event),
      changed: (agents, all) => this.#add("changed", { type: "changed", agents: all ? [] : agents, all }),
    });
  }

  #idOf(n: number): string {
    return `${this.#logId}-${n}`;
  }

  #add(type: string, data: object): void {
    const event = { n: ++this.#lastNumber, type, data };
    this.#events.push(event);
    if (this.#events.length > 2 * MAX_KEPT) this.#events = this.#events.slice(-MAX_KEPT);
    for (const listener of this.#subscribers) listener(event);
  }
}
