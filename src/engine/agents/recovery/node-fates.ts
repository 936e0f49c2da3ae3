/**
 * Whether the nodes on which runs worked have died. A node whose lease ended may be dead, paused or cut off: it is silent until
 * it renews, joins again or is known to be dead; after `silenceMs` it counts as dead. That time is measured by the monotonic
 * clock, because a jump of the wall clock may have ended all leases at once.
 */
import type { Ports } from "../../../core/ports/ports.ts";
import type { NodeRecord } from "../../../core/store/store.ts";

/** A node that fell silent has this many leases of time to come back before it counts as dead (M13). */
export const SILENT_LEASES = 4;

/** `returned`: its process lost the lease, lived on and joined again. `alive`: this node, or one that has renewed its lease. */
export type Fate = "dead" | "returned" | "alive" | "silent";

interface Watched {
  readonly leaseUntil: number;
  /** Since when the lease is that. */
  readonly since: number;
  /** Whether it was seen to change. */
  readonly renewed: boolean;
}

/** How often a silent node is looked at until it counts as dead. */
const LOOKS = 16;

export class NodeFates {
  readonly #ports: Pick<Ports, "store" | "clock">;
  readonly #silenceMs: number;
  #reading: Promise<readonly NodeRecord[]> | undefined;
  readonly #watched = new Map<number, Watched>();

  constructor(ports: Pick<Ports, "store" | "clock">, silenceMs: number) {
    this.#ports = ports;
    this.#silenceMs = silenceMs;
  }

  /** When a silent node is worth another look. */
  get lookMs(): number {
    return this.#silenceMs / LOOKS;
  }

  /** `self`: the node of this process. Agents that ask at the same moment share one read. */
  async read(self: number): Promise<(node: number) => Fate> {
    this.#reading ??= this.#ports.store.nodes().finally(() => {
      this.#reading = undefined;
    });
    const nodes = new Map((await this.#reading).map((one) => [one.node, one]));
    return (node) => (node === self ? "alive" : this.#fateOf(node, nodes.get(node)));
  }

  #fateOf(node: number, record: NodeRecord | undefined): Fate {
    if (record?.returned) return "returned";
    if (!record || record.left) return "dead";
    const now = this.#ports.clock.monotonic();
    const { leaseUntil } = record;
    let watched = this.#watched.get(node);
    if (watched?.leaseUntil !== leaseUntil) {
      watched = { leaseUntil, since: now, renewed: watched !== undefined };
      this.#watched.set(node, watched);
    }
    if (now - watched.since >= this.#silenceMs) return "dead";
    return watched.renewed ? "alive" : "silent";
  }
}
