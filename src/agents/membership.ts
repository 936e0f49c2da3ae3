/**
 * A node's place among the others: it joins, renews its lease, and claims agents that have work and no living owner (M23).
 * On an embedded store it is alone, its lease never ends, and nothing here runs while nothing happens.
 */
import type { Change, Op, OpResult } from "../core/change.ts";
import { errorText, InvariantError } from "../core/errors.ts";
import type { AgentId } from "../core/ids.ts";
import type { Ports } from "../core/ports.ts";

export type MembershipPorts = Pick<Ports, "store" | "ids" | "clock" | "log">;

export interface MembershipOptions {
  readonly name: string;
  /** Absent: alone on this store, for ever. */
  readonly leaseMs?: number;
  /** How often to look for agents that nobody holds. */
  readonly pollMs: number;
}

const CLAIM_BATCH = 100;
const DOUBT_MS = 1_000;

export class Membership {
  readonly #ports: MembershipPorts;
  readonly #options: MembershipOptions;
  readonly #onClaimed: (agentId: AgentId, epoch: number) => void;
  readonly #onPolled: () => Promise<void>;
  readonly #onLost: () => Promise<void>;
  readonly #cancels = new Set<() => void>();
  #left = false;
  #doubt = false;
  #looking = false;
  /** When the lease was last known to run, on the clock that never jumps (M23). */
  #renewedAt = 0;
  node = 0;

  constructor(
    ports: MembershipPorts,
    options: MembershipOptions,
    on: { claimed: (agentId: AgentId, epoch: number) => void; polled: () => Promise<void>; lost: () => Promise<void> },
  ) {
    this.#ports = ports;
    this.#options = options;
    this.#onClaimed = on.claimed;
    this.#onPolled = on.polled;
    this.#onLost = on.lost;
  }

  /** Takes a number among the nodes; again after the lease was lost, and then a new one. */
  async join(): Promise<number> {
    const { name } = this.#options;
    const askedAt = this.#ports.clock.monotonic();
    const [joined] = await this.#commit("node.join", [{ op: "node.join", name, leaseUntil: this.#leaseUntil() }]);
    if (joined?.op !== "node.join") throw new InvariantError("The store did not say which node this is.");
    this.node = joined.node;
    // Only now: a join that failed is tried again by the next renewal, which finds the lease lost.
    this.#renewedAt = askedAt;
    return this.node;
  }

  /** Takes up everything that waits for an owner, now and from time to time. */
  async start(): Promise<void> {
    const { log } = this.#ports;
    await this.claimAll().catch((error) =>
      log.warn("agents will be claimed a little later", { error: errorText(error) }),
    );
    this.#every(this.#options.pollMs, async () => {
      await this.claimAll();
      await this.#onPolled();
    });
    const { leaseMs } = this.#options;
    if (leaseMs !== undefined) this.#every(leaseMs / 4, () => this.#renew(leaseMs));
  }

  async claimAll(): Promise<void> {
    const own = this.#doubt;
    this.#doubt = false;
    try {
      for (let after: AgentId | undefined; ; ) {
        const op: Op = { op: "agents.claim", node: this.node, limit: CLAIM_BATCH, own, after };
        const [result] = await this.#commit("agents.claim", [op]);
        const claims = result?.op === "agents.claim" ? result.claims : [];
        for (const { agentId, epoch } of claims) this.#onClaimed(agentId, epoch);
        if (claims.length < CLAIM_BATCH || this.#left) return;
        after = claims.at(-1)?.agentId;
      }
    } catch (error) {
      this.#doubt = true;
      throw error;
    }
  }

  /** A commit that may have claimed an agent was not answered: the next look names our own agents too. */
  doubt(): void {
    this.#doubt = true;
    if (this.#looking) return;
    this.#looking = true;
    const cancel = this.#ports.clock.after(DOUBT_MS, () => {
      this.#looking = false;
      this.#cancels.delete(cancel);
      if (!this.#left) void this.claimAll().catch(() => this.doubt());
    });
    this.#cancels.add(cancel);
  }

  /** Claims one agent that another node posted to, if nobody living holds it. */
  async claimOne(agentId: AgentId): Promise<void> {
    const [result] = await this.#commit("agent.claim", [{ op: "agent.claim", agentId, node: this.node }]);
    if (result?.op === "agent.claim" && result.epoch !== undefined) this.#onClaimed(agentId, result.epoch);
  }

  async leave(): Promise<void> {
    this.stop();
    await this.#commit("node.leave", [{ op: "node.leave", node: this.node }]);
  }

  stop(): void {
    this.#left = true;
    for (const cancel of this.#cancels) cancel();
    this.#cancels.clear();
  }

  #leaseUntil(): number {
    const { leaseMs } = this.#options;
    return leaseMs === undefined ? Number.MAX_SAFE_INTEGER : this.#ports.clock.now() + leaseMs;
  }

  /** Renews the lease. A node that cannot must stop before the others may take its agents up. */
  async #renew(leaseMs: number): Promise<void> {
    const { clock, store, log } = this.#ports;
    const askedAt = clock.monotonic();
    // Paused for longer than the lease: whatever the store says now, others may hold our agents.
    const overslept = askedAt - this.#renewedAt > leaseMs;
    const change = this.#change("node.renew", [{ op: "node.renew", node: this.node, leaseUntil: this.#leaseUntil() }]);
    const result = overslept ? undefined : await store.commit(change).catch(() => undefined);
    if (result?.ok) {
      this.#renewedAt = askedAt;
      return;
    }
    const late = clock.monotonic() - this.#renewedAt > (leaseMs * 3) / 4;
    if (this.#left || (result === undefined && !overslept && !late)) return;
    log.warn("the lease of this node has ended; it joins again under a new number", { node: this.node });
    await this.#onLost();
  }

  #every(ms: number, work: () => Promise<void>): void {
    const arm = (): void => {
      const cancel = this.#ports.clock.after(ms, () => {
        this.#cancels.delete(cancel);
        if (this.#left) return;
        work()
          .catch((error) =>
            this.#ports.log.warn("a node's routine failed; it will be tried again", { error: errorText(error) }),
          )
          .finally(() => {
            if (!this.#left) arm();
          });
      });
      this.#cancels.add(cancel);
    };
    arm();
  }

  #change(site: string, ops: readonly Op[]): Change {
    return { id: this.#ports.ids.change(), site, at: this.#ports.clock.now(), ops };
  }

  async #commit(site: string, ops: readonly Op[]): Promise<readonly (OpResult | undefined)[]> {
    const change = this.#change(site, ops);
    try {
      const result = await this.#ports.store.commit(change);
      return result.ok ? result.results : [];
    } catch (error) {
      const outcome = await this.#ports.store.outcome(change.id).catch(() => undefined);
      if (outcome?.ok) return outcome.results;
      this.doubt();
      throw error;
    }
  }
}
