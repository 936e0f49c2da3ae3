/** What a node does differently where there may be others: connectors that run once, and events of runs elsewhere. */

import type { PostgresStore } from "../../adapters/store/postgres/open-store.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { Connector } from "../../core/ports/connector.ts";
import type { Log } from "../../core/ports/log.ts";
import type { RunEvents } from "../../engine/runtime/run-events.ts";
import type { LiveTree } from "../../engine/subagents/live-tree.ts";
import { type EventRelay, type RemoteNodes, relayEvents } from "./relay/relay-events.ts";
import { singletonConnector } from "./singleton-connector.ts";

export interface Serving {
  readonly events: RunEvents;
  readonly tree: Pick<LiveTree, "onChange">;
}

export interface Cluster {
  once(connector: Connector): Connector;
  /** Agents that other nodes work on. Nothing comes before `serves`. */
  readonly remoteNodes: RemoteNodes;
  serves(node: Serving): void;
  stop(): void;
}

export function openCluster(shared: PostgresStore, ports: { clock: Clock; log: Log }): Cluster {
  const { relay, leases } = shared;
  let events: EventRelay | undefined;
  const nothing = (): void => {};
  return {
    once: (connector) => (connector.once ? singletonConnector(connector, { ...ports, leases }) : connector),
    remoteNodes: {
      follow: (agentId) => events?.follow(agentId) ?? nothing,
      awaitEnd: (agentId, ended) => events?.awaitEnd(agentId, ended) ?? nothing,
      followTree: (listener) => events?.followTree(listener) ?? nothing,
      tellChanged: (what) => events?.tellChanged(what),
      onChanged: (what, changed) => events?.onChanged(what, changed) ?? nothing,
    },
    serves(node) {
      events = relayEvents({ ...ports, relay, store: shared, events: node.events, tree: node.tree });
    },
    stop: () => events?.stop(),
  };
}
