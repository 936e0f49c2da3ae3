/** Ways to break the ports of a subject: the store's commits, single ops, reads, lines of history. */

import type { Ports } from "../../../src/core/ports/ports.ts";
import type { Change, CommitResult, Op } from "../../../src/core/store/change.ts";
import type { Store } from "../../../src/core/store/store.ts";

/** A wrapper around the ports of each life of a node. */
export type BreakPorts = (ports: Ports) => Ports;

export function committing(commit: (store: Store, change: Change) => Promise<CommitResult>): BreakPorts {
  return (ports) => ({ ...ports, store: { ...ports.store, commit: (change) => commit(ports.store, change) } });
}

export function rewriting(rewrite: (op: Op) => Op): BreakPorts {
  return committing((store, change) => store.commit({ ...change, ops: change.ops.map(rewrite) }));
}

export function reading(read: (store: Store) => Partial<Store>): BreakPorts {
  return (ports) => ({ ...ports, store: { ...ports.store, ...read(ports.store) } });
}

export function readingLines(change: (line: string) => string): BreakPorts {
  return reading((store) => ({
    linesBack: async (agentId, page) =>
      (await store.linesBack(agentId, page)).map(({ position, line }) => ({ position, line: change(line) })),
  }));
}
