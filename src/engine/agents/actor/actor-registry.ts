/** The actors of this node: created when an agent is woken, kept warm up to a limit, and dropped while they rest. */
import { errorText } from "../../../core/errors.ts";
import type { AgentId, RunId } from "../../../core/ids.ts";
import type { Message } from "../../../core/message/message.ts";
import type { Ports } from "../../../core/ports/ports.ts";
import type { LiveRun } from "../../runtime/live-run.ts";
import type { LiveAgents } from "../../subagents/subagents.ts";
import { Actor } from "./actor.ts";
import type { ActorHost } from "./actor-host.ts";

/** How many resting agents stay in memory. */
const DEFAULT_WARM = 1_000;
/** How many of the coldest actors are checked when one comes to rest. More than one, so that a surplus shrinks. */
const CHECKS = 4;

export class ActorRegistry implements LiveAgents {
  readonly #ports: Pick<Ports, "store" | "log">;
  readonly #warm: number;
  readonly #actors = new Map<AgentId, Actor>();

  constructor(ports: Pick<Ports, "store" | "log">, warm = DEFAULT_WARM) {
    this.#ports = ports;
    this.#warm = warm;
  }

  get size(): number {
    return this.#actors.size;
  }
  get(agentId: AgentId): Actor | undefined {
    return this.#actors.get(agentId);
  }
  all(): Iterable<Actor> {
    return this.#actors.values();
  }
  runOf(agentId: AgentId): RunId | undefined {
    return this.#actors.get(agentId)?.run?.id;
  }
  /** Waits without holding the place in a lane that the awaited agent may need (M11). */
  outsideLane<T>(agentId: AgentId, wait: Promise<T>): Promise<T> {
    return this.#actors.get(agentId)?.outsideLane(wait) ?? wait;
  }
  /** The work of all actors that are not idle. */
  working(): readonly Promise<void>[] {
    return [...this.#actors.values()].flatMap((actor) => actor.working ?? []);
  }

  /** Wakes an agent of this node. `waits`: the only message that waits, if it is known. */
  wake(host: ActorHost, agentId: AgentId, epoch: number, waits?: Message): void {
    const actor = this.#actors.get(agentId) ?? new Actor(host, agentId, epoch);
    // The most recently woken comes last, so that the first idle one is the coldest.
    this.#actors.delete(agentId);
    this.#actors.set(agentId, actor);
    actor.wake(epoch, waits);
  }

  /**
   * Whether an agent that this node holds under this epoch needs no `wake`: its actor is at work and reads everything that
   * waits before it releases the agent. An actor with an active run does need one, to read the new messages.
   */
  isProcessing(agentId: AgentId, epoch: number): boolean {
    const actor = this.#actors.get(agentId);
    return actor !== undefined && !actor.idle && actor.epoch === epoch && !actor.run;
  }

  /** Wakes an agent that works here, and applies an abort mark of another node. False if it does not work here. */
  interruptWait(agentId: AgentId): boolean {
    const actor = this.#actors.get(agentId);
    if (!actor || actor.idle) return false;
    actor.wake(0);
    if (actor.run) void this.#checkAbortMark(actor.run);
    return true;
  }

  /** Drops idle actors above the limit. The next message of such an agent creates its actor again. */
  forgetIdle(): void {
    let checks = CHECKS;
    for (const [agentId, actor] of this.#actors) {
      if (this.#actors.size <= this.#warm || checks-- === 0) return;
      this.#actors.delete(agentId);
      // An actor at work moves to the end, so that the next check does not pass it again.
      if (!actor.idle || actor.summarising) this.#actors.set(agentId, actor);
    }
  }

  /** This node no longer holds any agent. */
  lose(): void {
    for (const actor of this.#actors.values()) actor.lose();
    this.#actors.clear();
  }

  /** Another node may have marked a run of this node to end: it ends at once, not at its next step. */
  async #checkAbortMark(run: LiveRun): Promise<void> {
    try {
      const abort = (await this.#ports.store.run(run.id))?.abort;
      if (abort) run.end(abort.reason);
    } catch (error) {
      this.#ports.log.warn("could not read the abort mark of a run", { run: run.id, error: errorText(error) });
    }
  }
}
