/**
 * Sends the events of this node's runs to the nodes that subscribed: all events of the agents they follow, in batches; an
 * outline of every agent's events; and the tail of the current step for a new subscriber. Never inside a step's transaction
 * (M24). Subscriptions expire, and every buffer is bounded: a subscriber that misses events asks for the tail again.
 */

import type { AgentId } from "../../core/ids.ts";
import type { Clock } from "../../core/ports/clock.ts";
import { RunTails } from "../runs/run-tails.ts";
import type { RunEvent, RunEvents } from "../runtime/run-events.ts";
import type { LiveTree, TreeChange } from "../subagents/live-tree.ts";
import { type EventOutline, type EventPosition, type Interest, pack, type RelayMessage } from "./relay-wire.ts";

interface PublisherDeps {
  readonly clock: Clock;
  readonly events: RunEvents;
  readonly tree: Pick<LiveTree, "onChange">;
  readonly send: (message: RelayMessage, to: string) => void;
  /** How long a subscription lasts without a renewal. */
  readonly subscriptionMs: number;
}

/** Events within this time go in one message. */
const BATCH_MS = 40;
const TREE_BATCH_MS = 200;
const MAX_BATCH_LENGTH = 256_000;
const MAX_OUTLINES = 1_000;
/** The subscriber reads a longer result from the store. */
const MAX_RESULT = 32_000;
const MAX_SUBSCRIBED = 10_000;
const OUTLINED: ReadonlySet<RunEvent["type"]> = new Set<EventOutline["type"]>([
  "start",
  "restart",
  "step",
  "end",
  "error",
]);

interface Subscription {
  readonly until: number;
  readonly interest: Interest;
}

export class RelayPublisher {
  readonly #deps: PublisherDeps;
  readonly #tails = new RunTails();
  /** By agent, then by the name of the subscribed process. */
  readonly #subscriptions = new Map<AgentId, Map<string, Subscription>>();
  /** Until when each process wants the tree. */
  readonly #treeSubscriptions = new Map<string, number>();
  readonly #batches = new Map<string, { events: RunEvent[]; length: number }>();
  readonly #tree = { events: [] as EventOutline[], changed: new Set<AgentId>(), all: false };
  readonly #stopListening: () => void;
  #stopTree: (() => void) | undefined;
  #cancelFlush: (() => void) | undefined;
  #cancelTree: (() => void) | undefined;

  constructor(deps: PublisherDeps) {
    this.#deps = deps;
    this.#stopListening = deps.events.listenToOwn((event) => this.#onEvent(event));
  }

  stop(): void {
    this.#stopListening();
    this.#stopTree?.();
    this.#cancelFlush?.();
    this.#cancelTree?.();
  }

  /** Subscribes a process, or renews its subscription. `tail`: it also needs the current step so far. */
  subscribe(agents: readonly AgentId[], interest: Interest, tail: boolean, from: string): void {
    const until = this.#deps.clock.monotonic() + this.#deps.subscriptionMs;
    for (const agentId of agents) {
      const subscribers = this.#subscriptions.get(agentId) ?? new Map<string, Subscription>();
      // The most recently renewed agent is last, so the limit below drops the oldest.
      this.#subscriptions.delete(agentId);
      this.#subscriptions.set(agentId, subscribers);
      subscribers.set(from, { until, interest });
      if (tail && interest === "all") this.#sendTail(agentId, from);
    }
    for (const oldest of this.#subscriptions.keys()) {
      if (this.#subscriptions.size <= MAX_SUBSCRIBED) break;
      this.#subscriptions.delete(oldest);
    }
  }

  unsubscribe(agents: readonly AgentId[], from: string): void {
    for (const agentId of agents) {
      const subscribers = this.#subscriptions.get(agentId);
      subscribers?.delete(from);
      if (subscribers?.size === 0) this.#subscriptions.delete(agentId);
    }
  }

  subscribeTree(wanted: boolean, from: string): void {
    if (wanted) this.#treeSubscriptions.set(from, this.#deps.clock.monotonic() + this.#deps.subscriptionMs);
    else this.#treeSubscriptions.delete(from);
    if (this.#treeSubscriptions.size > 0) {
      this.#stopTree ??= this.#deps.tree.onChange((change) => this.#onTreeChange(change));
    } else {
      this.#stopTree?.();
      this.#stopTree = undefined;
    }
  }

  #sendTail(agentId: AgentId, to: string): void {
    const known = this.#tails.of(agentId);
    if (!known) return;
    // The tail contains the events of the open batch. Sent after the tail, they would look like new ones.
    this.#flush();
    const events = pack(known.tail.apart());
    this.#deps.send({ tail: { agentId, last: { agentId, runId: known.runId, ...known.tail.at }, events } }, to);
  }

  #onEvent(event: RunEvent): void {
    this.#tails.add(event);
    if (this.#treeSubscriptions.size > 0 && OUTLINED.has(event.type)) this.#addOutline(event);
    const subscribers = this.#subscriptions.get(event.agentId);
    if (!subscribers) return;
    const now = this.#deps.clock.monotonic();
    let full = event.type === "end";
    for (const [to, { until, interest }] of subscribers) {
      if (until < now) subscribers.delete(to);
      else if (interest === "all") full = this.#addToBatch(to, event) || full;
      else if (event.type === "end") this.#deps.send({ ended: positionOf(event) }, to);
    }
    if (subscribers.size === 0) this.#subscriptions.delete(event.agentId);
    if (full) this.#flush();
    else if (this.#batches.size > 0) this.#cancelFlush ??= this.#deps.clock.after(BATCH_MS, () => this.#flush());
  }

  /** True if the batch is full and must be sent now. */
  #addToBatch(to: string, event: RunEvent): boolean {
    const batch = this.#batches.get(to) ?? { events: [], length: 0 };
    this.#batches.set(to, batch);
    batch.events.push(event);
    batch.length += 100 + (event.type === "delta" || event.type === "tool_update" ? event.text.length : 0);
    return batch.length > MAX_BATCH_LENGTH;
  }

  #flush(): void {
    this.#cancelFlush?.();
    this.#cancelFlush = undefined;
    for (const [to, { events }] of this.#batches) {
      let batch: RunEvent[] = [];
      for (const event of events) {
        if (event.type !== "end" || JSON.stringify(event.result).length <= MAX_RESULT) batch.push(event);
        else {
          if (batch.length > 0) this.#deps.send({ tell: pack(batch) }, to);
          batch = [];
          this.#deps.send({ ended: positionOf(event) }, to);
        }
      }
      if (batch.length > 0) this.#deps.send({ tell: pack(batch) }, to);
    }
    this.#batches.clear();
  }

  #addOutline(event: RunEvent): void {
    const { type, agentId, runId, attempt, step, seq } = event;
    const outcome = event.type === "end" ? event.result.outcome : undefined;
    if (this.#tree.events.length >= MAX_OUTLINES) this.#tree.all = true;
    else this.#tree.events.push({ type, agentId, runId, attempt, step, seq, outcome } as EventOutline);
    this.#sendTreeSoon();
  }

  #onTreeChange({ agents, all }: TreeChange): void {
    for (const agentId of agents) this.#tree.changed.add(agentId);
    this.#tree.all ||= all || this.#tree.changed.size > MAX_OUTLINES;
    this.#sendTreeSoon();
  }

  #sendTreeSoon(): void {
    this.#cancelTree ??= this.#deps.clock.after(TREE_BATCH_MS, () => this.#sendTree());
  }

  #sendTree(): void {
    this.#cancelTree = undefined;
    const { events, changed, all } = this.#tree;
    const tree = { events, changed: all ? [] : [...changed], all };
    Object.assign(this.#tree, { events: [], changed: new Set(), all: false });
    const now = this.#deps.clock.monotonic();
    for (const [to, until] of this.#treeSubscriptions) {
      if (until < now) this.subscribeTree(false, to);
      else this.#deps.send({ tree }, to);
    }
  }
}

const positionOf = ({ agentId, runId, attempt, step, seq }: RunEvent): EventPosition => ({
  agentId,
  runId,
  attempt,
  step,
  seq,
});
