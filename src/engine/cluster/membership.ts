/**
 * A node's membership in the store: it joins, renews its lease, and claims agents that have work and no living owner (M23).
 * On an embedded store it is alone, its lease never ends, and nothing here runs while the node is idle.
 */

import { errorText, InvariantError } from "../../core/errors.ts";
import type { AgentId } from "../../core/ids.ts";
import { sleep } from "../../core/ports/clock.ts";
import type { Ports } from "../../core/ports/ports.ts";
import type { Change, Op, OpResult } from "../../core/store/change.ts";
import type { CommitSite } from "../../core/store/commit-sites.ts";
import { submit } from "../commit/submit.ts";
import type { Emit } from "../engine-event.ts";

type MembershipPorts = Pick<Ports, "store" | "ids" | "clock" | "log">;

interface MembershipOptions {
  readonly name: string;
  /** Absent: this node is alone on its store, and its lease never ends. */
  readonly leaseMs?: number;
  /** How often to poll for agents without an owner. */
  readonly pollMs?: number;
}

const POLL_ALONE_MS = 30_000;
const POLL_SHARED_MS = 500;

const CLAIM_BATCH = 100;
/** When this node lists its own agents after a commit was not answered. The commit may be applied after the first listing. */
const DOUBT_MS = [1_000, 5_000, 25_000] as const;
/** Every Nth poll also lists agents this node already owns: a claim may be applied long after its commit was given up. */
const POLLS_PER_CHECK = 10;

export class Membership {
  readonly #ports: MembershipPorts;
  readonly #options: MembershipOptions;
  readonly #emit: Emit;
  readonly #cancels = new Set<() => void>();
  #left = false;
  #doubt = false;
  #listing = false;
  /** How many listings there were since the last commit with an unknown outcome. */
  #doubts = 0;
  #polls = 0;
  #started = false;
  /** Whether the lease has ended; only another join changes that. */
  #lost = false;
  #losing = false;
  #unwatch: (() => void) | undefined;
  /** When the last renewal that succeeded was sent, on the monotonic clock (M23). */
  #renewedAt = 0;
  node = 0;

  constructor(ports: MembershipPorts, options: MembershipOptions, emit: Emit) {
    this.#ports = ports;
    this.#options = options;
    this.#emit = emit;
  }

  /** Whether other nodes may use the same store. */
  get shared(): boolean {
    return this.#options.leaseMs !== undefined;
  }

  /** Gets a node number from the store; a new one after the lease was lost. Emits `joined`. */
  async join(): Promise<number> {
    const { name, leaseMs = Number.POSITIVE_INFINITY } = this.#options;
    for (;;) {
      const askedAt = this.#ports.clock.monotonic();
      const [joined] = await this.#commit("node.join", [
        { op: "node.join", name, leaseUntil: this.#leaseUntil(), was: this.node || undefined },
      ]);
      if (joined?.op !== "node.join") throw new InvariantError("The store did not return the number of this node.");
      // The answer came so late that the lease is nearly over.
      if (this.#ports.clock.monotonic() - askedAt >= leaseMs / 2) continue;
      this.node = joined.node;
      // Not earlier: after a failed join the next renewal must find the lease lost and join again.
      this.#lost = false;
      this.#renewed(askedAt);
      this.#emit({ type: "joined", node: this.node });
      return this.node;
    }
  }

  /** Claims all agents that wait for an owner, now and at every poll. */
  async start(): Promise<void> {
    const { log } = this.#ports;
    const { leaseMs, pollMs = this.shared ? POLL_SHARED_MS : POLL_ALONE_MS } = this.#options;
    // First, because claiming may take long and the lease must be renewed during that time.
    this.#started = true;
    this.#renewed(this.#renewedAt);
    if (leaseMs !== undefined) this.#every(leaseMs / 4, () => this.#renew(leaseMs));
    await this.claimAll().catch((error) =>
      log.warn("agents will be claimed a little later", { error: errorText(error) }),
    );
    this.#every(pollMs, async () => {
      // While nobody has work a read is enough: a commit would flush the disk and wake those who follow the store.
      if ((await this.#ports.store.busyAgents({ limit: 1 })).length > 0) await this.claimAll();
      this.#emit({ type: "polled" });
    });
  }

  async claimAll(): Promise<void> {
    this.#polls += 1;
    const own = this.#doubt || this.#polls % POLLS_PER_CHECK === 0;
    this.#doubt = false;
    try {
      for (let after: AgentId | undefined; ; ) {
        const op: Op = { op: "agents.claim", node: this.node, limit: CLAIM_BATCH, own, after };
        const [result] = await this.#commit("agents.claim", [op]);
        const claims = result?.op === "agents.claim" ? result.claims : [];
        for (const { agentId, epoch } of claims) this.#emit({ type: "claimed", agentId, epoch });
        if (claims.length < CLAIM_BATCH || this.#left) return;
        after = claims.at(-1)?.agentId;
      }
    } catch (error) {
      this.#doubt = true;
      throw error;
    }
  }

  /** A commit that may have claimed an agent was not answered: the next polls list this node's agents too. */
  doubt(): void {
    this.#doubt = true;
    this.#doubts = 0;
    if (!this.#listing && !this.#left) this.#listAgain();
  }

  #listAgain(): void {
    const ms = DOUBT_MS[this.#doubts];
    this.#listing = ms !== undefined;
    if (ms === undefined) return;
    this.#doubts += 1;
    const cancel = this.#ports.clock.after(ms, () => {
      this.#cancels.delete(cancel);
      this.#listing = false;
      this.#doubt = true;
      this.claimAll()
        .catch(() => this.doubt())
        .finally(() => {
          if (!this.#listing && !this.#left) this.#listAgain();
        });
    });
    this.#cancels.add(cancel);
  }

  /** Claims one agent that another node posted to, if no living node holds it. */
  async claimOne(agentId: AgentId): Promise<void> {
    const [result] = await this.#commit("agent.claim", [{ op: "agent.claim", agentId, node: this.node }]);
    if (result?.op !== "agent.claim" || result.epoch === undefined) return;
    this.#emit({ type: "claimed", agentId, epoch: result.epoch });
  }

  async leave(): Promise<void> {
    this.stop();
    await this.#commit("node.leave", [{ op: "node.leave", node: this.node }]);
  }

  stop(): void {
    this.#left = true;
    this.#started = false;
    for (const cancel of this.#cancels) cancel();
    this.#cancels.clear();
  }

  #leaseUntil(): number {
    const { leaseMs } = this.#options;
    return leaseMs === undefined ? Number.MAX_SAFE_INTEGER : this.#ports.clock.now() + leaseMs;
  }

  /** Renews the lease. A node that cannot must stop before other nodes may claim its agents. */
  async #renew(leaseMs: number): Promise<void> {
    const { clock, store } = this.#ports;
    const { node } = this;
    const askedAt = clock.monotonic();
    // The process was paused for longer than the lease: other nodes may hold its agents.
    if (this.#lost || askedAt - this.#renewedAt > leaseMs) return this.#lose();
    const change = this.#change("node.renew", [{ op: "node.renew", node, leaseUntil: this.#leaseUntil() }]);
    const result = await this.#inTime(store.commit(change), leaseMs / 2);
    if (this.#left || this.#lost || this.node !== node || !result) return;
    if (result.ok) this.#renewed(askedAt);
    else await this.#lose();
  }

  /** The lease is valid from here on. A timer notices a renewal that does not come in time. */
  #renewed(askedAt: number): void {
    const { clock, log } = this.#ports;
    const { leaseMs } = this.#options;
    this.#renewedAt = askedAt;
    this.#unwatch?.();
    if (leaseMs === undefined || !this.#started) return;
    const left = askedAt + (leaseMs * 3) / 4 - clock.monotonic();
    const cancel = clock.after(Math.max(0, left), () => {
      this.#cancels.delete(cancel);
      this.#lose().catch((error) => log.warn("could not join again yet", { error: errorText(error) }));
    });
    this.#cancels.add(cancel);
    this.#unwatch = () => {
      cancel();
      this.#cancels.delete(cancel);
    };
  }

  async #lose(): Promise<void> {
    if (this.#losing) return;
    this.#lost = true;
    this.#losing = true;
    this.#ports.log.warn("the lease of this node has ended; it joins again as a new node", { node: this.node });
    try {
      this.#emit({ type: "lease-lost" });
      await this.join();
      // It left in the meantime: the lease of the new node ends by itself.
      if (this.#left) return;
      // Not awaited: the new lease must be renewed while the agents are claimed.
      this.claimAll().catch((error) =>
        this.#ports.log.warn("agents will be claimed a little later", { error: errorText(error) }),
      );
    } finally {
      this.#losing = false;
    }
  }

  /** The answer; undefined if it failed or takes too long. */
  async #inTime<T>(answer: Promise<T>, ms: number): Promise<T | undefined> {
    const answered = new AbortController();
    const late = sleep(this.#ports.clock, ms, answered.signal).then(() => undefined);
    try {
      return await Promise.race([answer.catch(() => undefined), late]);
    } finally {
      answered.abort();
    }
  }

  #every(ms: number, work: () => Promise<void>): void {
    const arm = (): void => {
      const cancel = this.#ports.clock.after(ms, () => {
        this.#cancels.delete(cancel);
        work()
          .catch((error) =>
            this.#ports.log.warn("a routine of the node failed; it will be tried again", { error: errorText(error) }),
          )
          .finally(() => {
            if (!this.#left) arm();
          });
      });
      this.#cancels.add(cancel);
    };
    arm();
  }

  #change(site: CommitSite, ops: readonly Op[]): Change {
    return { id: this.#ports.ids.change(), site, at: this.#ports.clock.now(), ops };
  }

  async #commit(site: CommitSite, ops: readonly Op[]): Promise<readonly (OpResult | undefined)[]> {
    try {
      const result = await submit(this.#ports, site, ops);
      return result.ok ? result.results : [];
    } catch (error) {
      this.doubt();
      throw error;
    }
  }
}
