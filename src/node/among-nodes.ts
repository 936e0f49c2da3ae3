/** What a node does differently where there may be others: connectors that run once, and events of runs elsewhere. */
import type { Clock } from "../core/clock.ts";
import type { Connector } from "../core/connector.ts";
import type { Log } from "../core/log.ts";
import type { Store } from "../core/store.ts";
import type { RunEvents } from "../runs/events.ts";
import type { PostgresStore } from "../store/postgres/open-store.ts";
import { onceConnector } from "./once-connector.ts";
import { type EventRelay, relayEvents } from "./relay-events.ts";

export interface Serving {
  readonly node: number;
  readonly events: RunEvents;
}

export interface AmongNodes {
  readonly store: Store;
  once(connector: Connector): Connector;
  serves(node: Serving): void;
  stop(): void;
}

export function amongNodes(shared: PostgresStore, ports: { clock: Clock; log: Log }): AmongNodes {
  const { relay, leases } = shared;
  let served: Serving | undefined;
  let events: EventRelay | undefined;
  const store: Store = {
    ...shared,
    async commit(change) {
      const result = await shared.commit(change);
      // Whoever posts to an agent that another node holds wants to hear what becomes of it.
      for (const said of result.ok ? result.results : []) {
        if (said?.op === "message.post" && said.holder && said.holder.node !== served?.node)
          events?.follow(said.agentId);
      }
      return result;
    },
  };
  return {
    store,
    once: (connector) => (connector.once ? onceConnector(connector, { ...ports, leases }) : connector),
    serves(node) {
      served = node;
      events = relayEvents({ ...ports, relay, store: shared, events: node.events });
    },
    stop: () => events?.stop(),
  };
}
