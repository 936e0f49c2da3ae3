/**
 * One agent at work on this node: it takes what waits, runs, and rests. A node has at most one actor per agent, and the
 * store lets only the owner commit, so an agent has one live run on any number of nodes (L2, L3).
 */

import { parseDescriptor } from "../../../core/agent/descriptor.ts";
import { parseState } from "../../../core/agent/state.ts";
import { CorruptDataError, errorText, RookeryError } from "../../../core/errors.ts";
import type { AgentId, RunId } from "../../../core/ids.ts";
import type { Message } from "../../../core/message/message.ts";
import type { Owner } from "../../../core/store/change.ts";
import { afterRefusal, CommitRefused } from "../../commit/commit-refused.ts";
import { HistoryContextCache } from "../../context/context-cache.ts";
import { AgentLease } from "../../runtime/agent-lease.ts";
import type { LiveRun } from "../../runtime/live-run.ts";
import type { ActorHost } from "./actor-host.ts";
import { InboxView } from "./inbox-view.ts";
import { type ActorParts, nextAction } from "./next-action.ts";
import { RunDriver } from "./run-driver.ts";

const MAX_BACKOFF_MS = 30_000;

export class Actor {
  readonly agentId: AgentId;
  readonly #host: ActorHost;
  readonly #inbox: InboxView;
  readonly #driver: RunDriver;
  readonly #parts: ActorParts;
  #epoch: number;
  #lease: AgentLease | undefined;
  #working: Promise<void> | undefined;
  /** Whether something came since the actor last read its inbox. */
  #again = false;
  #failures = 0;
  #wakes = 0;
  /** How many wakes the current action has taken into account. */
  #seenWakes = 0;
  #interruptWait: (() => void) | undefined;

  constructor(host: ActorHost, agentId: AgentId, epoch: number) {
    this.agentId = agentId;
    this.#host = host;
    this.#epoch = epoch;
    this.#inbox = new InboxView(host, agentId);
    this.#driver = new RunDriver(host, agentId, this.#inbox, {
      woken: () => this.#again,
      contextWorkDue: () => this.#claimForContext(),
    });
    this.#parts = {
      host,
      inbox: this.#inbox,
      driver: this.#driver,
      stopped: false,
      faulted: false,
      discards: host.restore === "discard" && host.restoring(),
      pause: (ms) => this.#pause(ms),
      wake: () => this.#endPause(),
    };
  }

  get run(): LiveRun | undefined {
    return this.#driver.run;
  }
  /** When the last run ended here. */
  get busyUntil(): number | undefined {
    return this.#driver.busyUntil;
  }
  /** A run that still waits for a lane. */
  get queued(): { readonly runId: RunId; abort(): void } | undefined {
    return this.#driver.queued;
  }
  /** The claim under which this node holds the agent. */
  get epoch(): number {
    return this.#epoch;
  }
  get idle(): boolean {
    return this.#working === undefined;
  }
  get working(): Promise<void> | undefined {
    return this.#working;
  }
  /** Whether a summary of its context is being written in the background: it stays in memory until then. */
  get summarising(): boolean {
    return this.#driver.background?.busy ?? false;
  }
  /** The owner fields for a commit of the active run. */
  get asOwner(): Owner | undefined {
    return this.#driver.asOwner;
  }

  /** A message was posted, or the agent was claimed. `waits`: the only message that waits, if the caller knows it. */
  wake(epoch: number, waits?: Message): void {
    this.#endPause();
    this.#inbox.known(this.#working ? undefined : waits);
    this.#epoch = Math.max(this.#epoch, epoch);
    this.#again = true;
    if (this.run && this.#lease) void this.#inbox.lookAtArrivals(this.run, this.#lease);
    if (this.#working) return;
    this.#working = this.#work().finally(() => {
      this.#working = undefined;
      if (this.#again && !this.#host.draining()) this.wake(this.#epoch);
      else this.#claimForContext();
    });
  }

  /** Suspends the current run at its next step. */
  drain(): void {
    this.#end("drain");
  }

  /** This node no longer holds the agent: the model and the tools stop, nothing is committed. */
  lose(): void {
    this.#end("lost");
  }

  #end(reason: "drain" | "lost"): void {
    this.#endPause();
    this.#driver.background?.stop();
    this.run?.end(reason);
  }

  /** Waits for another agent without holding a place in a lane that this agent may need (M11). */
  outsideLane<T>(wait: Promise<T>): Promise<T> {
    return this.#driver.outsideLane(wait);
  }

  async #work(): Promise<void> {
    while (this.#again && !this.#host.draining()) {
      this.#again = false;
      try {
        await this.#untilRest();
      } catch (error) {
        this.#drop();
        await this.#afterError(error);
      }
    }
  }

  async #untilRest(): Promise<void> {
    while (!this.#host.draining()) {
      this.#seenWakes = this.#wakes;
      const next = await nextAction(this.#parts, await this.#hold());
      this.#failures = 0;
      if (next === "rest") return;
      if (next === "reload") this.#drop();
    }
  }

  /** Sets `#again` if this node can do something more for the agent. */
  async #afterError(error: unknown): Promise<void> {
    const { ports, emit } = this.#host;
    const { agentId } = this;
    const next = afterRefusal(error);
    // Another node holds the agent, or this one under a later claim. If the actor was woken again, it reads which.
    if (next === "yield") return;
    if (next === "stop") {
      this.#parts.stopped = true;
      this.#again = true;
      return;
    }
    // A stored text that is not JSON is as corrupt as one that has the wrong shape.
    if (error instanceof CorruptDataError || error instanceof SyntaxError) {
      emit({ type: "degraded", agentId, reason: errorText(error) });
      return;
    }
    emit({ type: "deliveries-unknown" });
    if (next === "rethrow") {
      // A fault that always comes back counts as a death (M13); a temporary one does not.
      if (!(error instanceof RookeryError && error.retryable)) this.#parts.faulted = true;
      ports.log.error("an agent failed and is read again", { agent: agentId, error: errorText(error) });
    }
    // A message that arrived during the failed action, such as a stop, does not wait for a long pause.
    if (this.#seenWakes !== this.#wakes) this.#failures = 0;
    this.#seenWakes = this.#wakes;
    this.#failures += 1;
    await this.#pause(Math.min(50 * 2 ** this.#failures, MAX_BACKOFF_MS));
    this.#again = true;
  }

  /** The lease in memory while it is valid; otherwise one read from the store. */
  async #hold(): Promise<AgentLease> {
    const { ports, node } = this.#host;
    const held = this.#lease;
    if (held && !held.released && held.epoch === this.#epoch) return held;
    // Claimed again right after this node released it: no other node was in between, so memory is still correct.
    if (held?.released && held.epoch + 1 === this.#epoch) {
      this.#lease = held.renewed({ node, epoch: this.#epoch });
      return this.#lease;
    }
    const record = await ports.store.agent(this.agentId);
    if (record?.node !== node)
      throw new CommitRefused("fenced", `Agent ${this.agentId} is held by node ${record?.node}.`);
    parseDescriptor(record.descriptor, `agent ${this.agentId}`);
    parseState(record.state, `agent ${this.agentId}`);
    this.#epoch = record.epoch;
    const context = new HistoryContextCache(ports, this.agentId);
    this.#lease = new AgentLease(ports, record, { node, epoch: record.epoch }, context);
    return this.#lease;
  }

  /** Memory may differ from the store (M2): the next action reads the agent again. */
  #drop(): void {
    this.#lease = undefined;
  }

  /**
   * Waits as part of the work, so that the agent does not count as idle: for a time, or until `wake`. Does not wait if the
   * actor was woken since it chose to pause.
   */
  async #pause(ms: number): Promise<void> {
    const isWoken = this.#seenWakes !== this.#wakes;
    this.#seenWakes = this.#wakes;
    if (isWoken || this.#host.draining()) return;
    await new Promise<void>((resolve) => {
      const cancel = this.#host.ports.clock.after(ms, resolve);
      this.#interruptWait = () => {
        cancel();
        resolve();
      };
    });
    this.#interruptWait = undefined;
  }

  #endPause(): void {
    this.#wakes += 1;
    this.#interruptWait?.();
  }

  /** Claims the agent if its context needs a turn while it rests. An actor at work finds that turn without this call. */
  #claimForContext(): void {
    if (!this.idle || this.#host.draining() || !this.#driver.takeContextWork()) return;
    this.#host.emit({ type: "work-found", agentId: this.agentId });
  }
}
