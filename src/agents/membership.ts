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

export class Membership {
  readonly #ports: MembershipPorts;
  readonly #options: MembershipOptions;
  readonly #onClaimed: (agentId: AgentId, epoch: number) => void;
  readonly #onLost: () => void;
  readonly #cancels = new Set<() => void>();
  #left = false;
  node = 0;

  constructor(
    ports: MembershipPorts,
    options: MembershipOptions,
    on: { claimed: (agentId: AgentId, epoch: number) => void; lost: () => void },
  ) {
    this.#ports = ports;
    this.#options = options;
    this.#onClaimed = on.claimed;
    this.#onLost = on.lost;
  }

  async join(): Promise<number> {
    const { name } = this.#options;
    const [joined] = await this.#commit("node.join", [{ op: "node.join", name, leaseUntil: this.#leaseUntil() }]);
    if (joined?.op !== "node.join") throw new InvariantError("The store did not say which node this is.");
    this.node = joined.node;
    if (this.#options.leaseMs !== undefined) this.#every(this.#options.leaseMs / 3, () => this.#renew());
    return this.node;
  }

  /** Takes up everything that waits for an owner, now and from time to time. */
  async start(): Promise<void> {
    await this.claimAll();
    this.#every(this.#options.pollMs, () => this.claimAll());
  }

  async claimAll(): Promise<void> {
    for (;;) {
      const [result] = await this.#commit("agents.claim", [
        { op: "agents.claim", node: this.node, limit: CLAIM_BATCH },
      ]);
      const claims = result?.op === "agents.claim" ? result.claims : [];
      for (const { agentId, epoch } of claims) this.#onClaimed(agentId, epoch);
      if (claims.length < CLAIM_BATCH || this.#left) return;
    }
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

  async #renew(): Promise<void> {
    const change = this.#change("node.renew", [{ op: "node.renew", node: this.node, leaseUntil: this.#leaseUntil() }]);
    const result = await this.#ports.store.commit(change);
    if (!result.ok && !this.#left) {
      // The others may have taken our agents up already: nothing of ours can be committed any more.
      this.#ports.log.warn("the lease of this node has ended", { node: this.node, detail: result.detail });
      this.#onLost();
    }
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
      const outcome = await this.#ports.store.outcome(change.id);
      if (outcome?.ok) return outcome.results;
      throw error;
    }
  }
}
