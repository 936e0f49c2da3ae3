/**
 * Follows agents that other nodes work on. It passes their events on in order and without holes. If one is missing it asks
 * for the tail of the step and passes that on behind a `restart`, which voids the part already seen; an end it missed it
 * reads from the store. It renews its subscriptions while a listener exists and sends nothing otherwise.
 */

import { errorText } from "../../core/errors.ts";
import type { AgentId } from "../../core/ids.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { Log } from "../../core/ports/log.ts";
import type { Store } from "../../core/store/store.ts";
import { readRunResult } from "../runs/run-result.ts";
import type { RunEvent, RunEvents } from "../runtime/run-events.ts";
import {
  type EventOutline,
  type EventPosition,
  type Interest,
  type PackedEvent,
  type RelayMessage,
  unpack,
} from "./relay-wire.ts";

export interface RemoteTreeListener {
  event(event: EventOutline): void;
  /** `all`: the changed agents are too many to name, or unknown. */
  changed(agents: readonly AgentId[], all: boolean): void;
}

interface SubscriberDeps {
  readonly clock: Clock;
  readonly events: RunEvents;
  readonly store: Pick<Store, "run" | "linesBack">;
  readonly log: Log;
  /** To one process, or to all others. */
  readonly send: (message: RelayMessage, to?: string) => void;
  /** How often subscriptions are renewed. */
  readonly renewMs: number;
}

interface Followed {
  /** How many listeners want every event. */
  followers: number;
  readonly ends: Set<() => void>;
  /** The last event of the active run that was passed on, and the node it came from. */
  run: (EventPosition & { readonly from: string }) | undefined;
  /** An event is missing: nothing more is passed on until the tail arrives. */
  gap: boolean;
}

/** Agents per subscribe message. */
const SUBSCRIBE_BATCH = 500;

export class RelaySubscriber {
  readonly #deps: SubscriberDeps;
  readonly #followed = new Map<AgentId, Followed>();
  readonly #treeListeners = new Set<RemoteTreeListener>();
  #toSubscribe = new Set<AgentId>();
  #cancelSubscribe: (() => void) | undefined;
  #cancelRenewal: (() => void) | undefined;

  constructor(deps: SubscriberDeps) {
    this.#deps = deps;
  }

  /** Passes this agent's events to the listeners of `RunEvents`, until the returned function is called. */
  follow(agentId: AgentId): () => void {
    const followed = this.#enter(agentId);
    followed.followers += 1;
    if (followed.followers === 1) this.#subscribeSoon(agentId);
    let open = true;
    return () => {
      if (!open) return;
      open = false;
      followed.followers -= 1;
      if (followed.followers === 0) followed.run = undefined;
      this.#leave(agentId, followed);
    };
  }

  /** Calls `ended` whenever a run of this agent ends on another node. */
  awaitEnd(agentId: AgentId, ended: () => void): () => void {
    const followed = this.#enter(agentId);
    followed.ends.add(ended);
    if (followed.followers === 0 && followed.ends.size === 1) this.#subscribeSoon(agentId);
    return () => {
      if (followed.ends.delete(ended)) this.#leave(agentId, followed);
    };
  }

  followTree(listener: RemoteTreeListener): () => void {
    this.#treeListeners.add(listener);
    if (this.#treeListeners.size === 1) {
      this.#deps.send({ wantTree: true });
      this.#renewLater();
    }
    return () => {
      if (this.#treeListeners.delete(listener) && this.#treeListeners.size === 0) this.#deps.send({ wantTree: false });
    };
  }

  /** A node began to listen, or listens again: it lost our subscriptions, and we may have lost its events. */
  onHello(from: string): void {
    for (const { run } of this.#followed.values()) if (run?.from === from) void this.#passStoredEnd(run);
    for (const listener of this.#treeListeners) listener.changed([], true);
    this.#renew([...this.#followed.keys()], true, from);
  }

  /**
   * Subscriptions are not confirmed, and one may be lost: who knows of no run, or misses an event of it, asks for the tail again. A
   * node without a run of that agent does not answer.
   */
  #renewAll(): void {
    const [known, unknown] = [new Set<AgentId>(), new Set<AgentId>()];
    for (const [agentId, { run, gap }] of this.#followed) (run && !gap ? known : unknown).add(agentId);
    this.#renew([...known], false);
    this.#subscribe([...unknown], true);
  }

  #renew(agents: readonly AgentId[], tail: boolean, to?: string): void {
    if (this.#treeListeners.size > 0) this.#deps.send({ wantTree: true }, to);
    this.#subscribe(agents, tail, to);
  }

  /** The connection broke: every event sent in between is lost. */
  onGap(): void {
    for (const followed of this.#followed.values()) {
      followed.gap = followed.run !== undefined;
      if (followed.run) void this.#passStoredEnd(followed.run);
      for (const ended of followed.ends) ended();
    }
    for (const listener of this.#treeListeners) listener.changed([], true);
    this.#renew([...this.#followed.keys()], true);
  }

  onEvents(packed: readonly PackedEvent[], from: string): void {
    for (const event of unpack(packed)) {
      const followed = this.#followed.get(event.agentId);
      if (!followed) continue;
      if (followed.followers > 0) this.#onEvent(followed, event, from);
      if (event.type === "end") for (const ended of followed.ends) ended();
    }
  }

  #onEvent(followed: Followed, event: RunEvent, from: string): void {
    const known = followed.run?.runId === event.runId ? followed.run : undefined;
    const place = placeOf(event, from, known, followed.gap);
    if (place === "old") return;
    if (place === "missing") {
      if (!followed.gap) this.#subscribeSoon(event.agentId);
      followed.gap = true;
      return;
    }
    if (place === "next") {
      const { agentId, runId, attempt, step, seq } = event;
      followed.gap = false;
      followed.run = event.type === "end" ? undefined : { agentId, runId, attempt, step, seq, from };
    }
    this.#deps.events.pass(event);
  }

  onTail(last: EventPosition, packed: readonly PackedEvent[], from: string): void {
    const followed = this.#followed.get(last.agentId);
    if (!followed || followed.followers === 0) return;
    const { run, gap } = followed;
    const known = run?.runId === last.runId ? run : undefined;
    if (known && (last.step < known.step || (!gap && known.from === from && known.seq >= last.seq))) return;
    const events = [...unpack(packed)];
    if (run && !known) void this.#passStoredEnd(run);
    // Listeners have seen a part of this step, or of an earlier step that is committed by now.
    const position = { ...last, seq: (events[0]?.seq ?? last.seq + 1) - 1 };
    if (known) {
      const first = last.step > known.step ? { type: "step" as const } : { type: "restart" as const };
      this.#deps.events.pass({ ...first, ...position });
    }
    followed.gap = false;
    followed.run = { ...last, from };
    for (const event of events) this.#deps.events.pass(event);
  }

  onEnded(position: EventPosition): void {
    const followed = this.#followed.get(position.agentId);
    if (!followed) return;
    for (const ended of followed.ends) ended();
    if (followed.followers > 0) void this.#passStoredEnd(position);
  }

  onTree(events: readonly EventOutline[], changed: readonly AgentId[], all: boolean): void {
    for (const listener of this.#treeListeners) {
      for (const event of events) listener.event(event);
      if (all || changed.length > 0) listener.changed(changed, all);
    }
  }

  stop(): void {
    this.#cancelSubscribe?.();
    this.#cancelRenewal?.();
    this.#followed.clear();
    this.#treeListeners.clear();
  }

  /** Reads the run's result from the store and passes its end on. Does nothing if the run has not ended. */
  async #passStoredEnd(run: EventPosition): Promise<void> {
    const { store, events, log } = this.#deps;
    try {
      const result = await readRunResult(store, run.runId);
      const followed = this.#followed.get(run.agentId);
      if (!result || !followed || followed.followers === 0) return;
      if (followed.run?.runId === run.runId) followed.run = undefined;
      const { agentId, runId, attempt, step, seq } = run;
      events.pass({ type: "end", result, agentId, runId, attempt, step, seq });
    } catch (error) {
      log.warn("could not read the end of a run of another node", { run: run.runId, error: errorText(error) });
    }
  }

  #enter(agentId: AgentId): Followed {
    const followed = this.#followed.get(agentId) ?? { followers: 0, ends: new Set(), run: undefined, gap: false };
    this.#followed.set(agentId, followed);
    return followed;
  }

  #leave(agentId: AgentId, followed: Followed): void {
    if (followed.followers > 0 || followed.ends.size > 0 || this.#followed.get(agentId) !== followed) return;
    this.#followed.delete(agentId);
    this.#toSubscribe.delete(agentId);
    this.#deps.send({ unwant: [agentId] });
  }

  /** Subscriptions that begin at the same moment go in one message. */
  #subscribeSoon(agentId: AgentId): void {
    this.#toSubscribe.add(agentId);
    this.#cancelSubscribe ??= this.#deps.clock.after(0, () => {
      this.#cancelSubscribe = undefined;
      const agents = [...this.#toSubscribe];
      this.#toSubscribe = new Set();
      this.#subscribe(agents, true);
    });
    this.#renewLater();
  }

  #subscribe(agents: readonly AgentId[], tail: boolean, to?: string): void {
    for (const interest of ["all", "ends"] satisfies Interest[]) {
      const want = agents.filter((agentId) => {
        const followed = this.#followed.get(agentId);
        return followed && (followed.followers > 0 ? "all" : "ends") === interest;
      });
      for (let at = 0; at < want.length; at += SUBSCRIBE_BATCH) {
        this.#deps.send({ want: want.slice(at, at + SUBSCRIBE_BATCH), interest, tail }, to);
      }
    }
  }

  #renewLater(): void {
    this.#cancelRenewal ??= this.#deps.clock.after(this.#deps.renewMs, () => {
      this.#cancelRenewal = undefined;
      if (this.#followed.size === 0 && this.#treeListeners.size === 0) return;
      this.#renewAll();
      this.#renewLater();
    });
  }
}

/** `aside`: the event belongs to a run that is not active, and does not start one. `missing`: an earlier event was lost. */
function placeOf(
  event: RunEvent,
  from: string,
  known: Followed["run"],
  gap: boolean,
): "next" | "old" | "missing" | "aside" {
  const { type, step, seq } = event;
  if (!known && (type === "compaction_start" || type === "compaction_end")) return "aside";
  // A node that was presumed dead still sends for a short time after another node took its agent over.
  if (known && known.from !== from && step < known.step) return "old";
  if (known?.from === from && seq <= known.seq) return "old";
  // These events need nothing that came before them.
  if (type === "start" || type === "restart" || type === "end") return "next";
  if (gap) return "missing";
  return seq === (known?.from === from ? known.seq + 1 : 1) ? "next" : "missing";
}
