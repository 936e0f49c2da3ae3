/**
 * Connects a node to the other nodes of its store: singleton connectors run on one node at a time, and run events of
 * remote agents arrive here.
 */

import type { Clock } from "../../core/ports/clock.ts";
import type { Leases, Relay } from "../../core/ports/cluster.ts";
import type { Connector } from "../../core/ports/connector.ts";
import type { Log } from "../../core/ports/log.ts";
import type { Store } from "../../core/store/store.ts";
import type { RunEvents } from "../runtime/run-events.ts";
import type { LiveTree } from "../subagents/live-tree.ts";
import { type EventRelay, type RemoteNodes, relayEvents } from "./relay-events.ts";
import { singletonConnector } from "./singleton-connector.ts";

/** The events of this node. Other nodes receive them through the relay. */
export interface EventSource {
  readonly events: RunEvents;
  readonly tree: Pick<LiveTree, "onChange">;
}

export interface Cluster {
  /** A connector marked `once` becomes a singleton; any other is returned unchanged. */
  singleton(connector: Connector): Connector;
  /** Agents that other nodes work on. Reports nothing before `connect`. */
  readonly remoteNodes: RemoteNodes;
  /** Starts to exchange events with the other nodes. */
  connect(node: EventSource): void;
  stop(): void;
}

export interface ClusterPorts {
  readonly store: Pick<Store, "run" | "linesBack">;
  readonly relay: Relay;
  readonly leases: Leases;
  readonly clock: Clock;
  readonly log: Log;
}

export function openCluster(ports: ClusterPorts): Cluster {
  let events: EventRelay | undefined;
  const nothing = (): void => {};
  return {
    singleton: (connector) => (connector.once ? singletonConnector(connector, ports) : connector),
    remoteNodes: {
      follow: (agentId) => events?.follow(agentId) ?? nothing,
      awaitEnd: (agentId, ended) => events?.awaitEnd(agentId, ended) ?? nothing,
      followTree: (listener) => events?.followTree(listener) ?? nothing,
      notifyChanged: (what) => events?.notifyChanged(what),
      onChanged: (what, changed) => events?.onChanged(what, changed) ?? nothing,
    },
    connect(node) {
      events = relayEvents({ ...ports, events: node.events, tree: node.tree });
    },
    stop: () => events?.stop(),
  };
}
