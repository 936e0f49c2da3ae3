/**
 * Shows clients of this node the runs of other nodes. A node subscribes to the agents it needs; the node that works on
 * such an agent sends its events through the relay. Events keep their sequence numbers, so a receiver notices a lost one.
 */

import type { AgentId } from "../../core/ids.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { Relay } from "../../core/ports/cluster.ts";
import type { Log } from "../../core/ports/log.ts";
import type { Store } from "../../core/store/store.ts";
import type { RunEvents } from "../runtime/run-events.ts";
import type { LiveTree } from "../subagents/live-tree.ts";
import { RelayPublisher } from "./relay-publisher.ts";
import { RelaySubscriber, type RemoteTreeListener } from "./relay-subscriber.ts";
import { PartAssembler, type RelayMessage, type SharedState, splitMessage } from "./relay-wire.ts";

/** Agents that other nodes work on. Each subscription returns a function that ends it. */
export interface RemoteNodes {
  /** Passes the agent's events to the listeners of `RunEvents` on this node. */
  follow(agentId: AgentId): () => void;
  /** Calls `ended` whenever a run of this agent ends on another node. */
  awaitEnd(agentId: AgentId, ended: () => void): () => void;
  followTree(listener: RemoteTreeListener): () => void;
  /** Tells the other nodes that shared state changed. */
  notifyChanged(what: SharedState): void;
  /** Calls `changed` when another node changed the state, and after a gap, when it may have. */
  onChanged(what: SharedState, changed: () => void): () => void;
}

export interface EventRelay extends RemoteNodes {
  stop(): void;
}

interface RelayPorts {
  readonly relay: Relay;
  readonly events: RunEvents;
  readonly tree: Pick<LiveTree, "onChange">;
  readonly store: Pick<Store, "run" | "linesBack">;
  readonly clock: Clock;
  readonly log: Log;
}

const RENEW_MS = 10_000;

/** For a process that changes shared state and then exits. */
export const notifyChanged = (relay: Relay, changed: SharedState): void => {
  for (const part of splitMessage({ changed }, 1, relay.maxBytes)) relay.send(part);
};

export function relayEvents(ports: RelayPorts): EventRelay {
  const { relay } = ports;
  let messageNumber = 0;
  const send = (message: RelayMessage, to?: string): void => {
    messageNumber += 1;
    for (const part of splitMessage(message, messageNumber, relay.maxBytes)) relay.send(part, to);
  };
  const publisher = new RelayPublisher({ ...ports, send, subscriptionMs: 3 * RENEW_MS });
  const subscriber = new RelaySubscriber({ ...ports, send, renewMs: RENEW_MS });
  const assembler = new PartAssembler();
  const watchers = new Map<() => void, SharedState>();
  const notifyWatchers = (changed?: SharedState): void => {
    for (const [notify, what] of watchers) if (changed === undefined || changed === what) notify();
  };
  const receive = (text: string, from: string): void => {
    const message = assembler.add(text, from);
    if (!message) return;
    if ("want" in message) publisher.subscribe(message.want, message.interest, message.tail, from);
    else if ("unwant" in message) publisher.unsubscribe(message.unwant, from);
    else if ("wantTree" in message) publisher.subscribeTree(message.wantTree, from);
    else if ("tell" in message) subscriber.onEvents(message.tell, from);
    else if ("tail" in message) subscriber.onTail(message.tail.last, message.tail.events, from);
    else if ("ended" in message) subscriber.onEnded(message.ended);
    else if ("tree" in message) subscriber.onTree(message.tree.events, message.tree.changed, message.tree.all);
    else if ("changed" in message) notifyWatchers(message.changed);
    else subscriber.onHello(from);
  };
  const stopListening = relay.listen(receive, () => {
    subscriber.onGap();
    notifyWatchers();
    // Subscriptions that were sent in between are lost too.
    send({ hello: true });
  });
  send({ hello: true });
  return {
    follow: (agentId) => subscriber.follow(agentId),
    awaitEnd: (agentId, ended) => subscriber.awaitEnd(agentId, ended),
    followTree: (listener) => subscriber.followTree(listener),
    notifyChanged: (what) => send({ changed: what }),
    onChanged(what, changed) {
      // A separate key per call: the same function may be registered twice.
      const watcher = (): void => changed();
      watchers.set(watcher, what);
      return () => watchers.delete(watcher);
    },
    stop() {
      stopListening();
      publisher.stop();
      subscriber.stop();
    },
  };
}
