/** The agents in memory on this node: made when they are woken, kept warm while there is room, and let go when they rest. */
import { errorText } from "../../../core/errors.ts";
import type { AgentId, RunId } from "../../../core/ids.ts";
import type { Message } from "../../../core/message/message.ts";
import type { Ports } from "../../../core/ports/ports.ts";
import type { LiveRun } from "../../runtime/live-run.ts";
import type { LiveAgents } from "../../subagents/subagents.ts";
import { Actor } from "./actor.ts";
import type { ActorHost } from "./actor-host.ts";

/** Agents kept in memory while they rest. */
const DEFAULT_WARM = 1_000;
/** How many of the coldest are looked at when one comes to rest: more than one, so that what has piled up goes too. */
const LOOKS = 4;

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
  /** What is being worked on right now. */
  working(): readonly Promise<void>[] {
    return [...this.#actors.values()].flatMap((actor) => actor.working ?? []);
  }

  /** Wakes an agent of this node. `waits`: the only message that waits, if it is known. */
  wake(host: ActorHost, agentId: AgentId, epoch: number, waits?: Message): void {
    const actor = this.#actors.get(agentId) ?? new Actor(host, agentId, epoch);
    // The most recently woken stand last, so that the first idle ones are the coldest.
    this.#actors.delete(agentId);
    this.#actors.set(agentId, actor);
    actor.wake(epoch, waits);
  }

  /**
   * Whether an agent that the store calls ours, under this epoch, needs no waking: it is on its way to what waits, and sees all
   * of it before it is given back. One whose run is active looks at what may have come for it.
   */
  isProcessing(agentId: AgentId, epoch: number): boolean {
    const actor = this.#actors.get(agentId);
    return actor !== undefined && !actor.idle && actor.epoch === epoch && !actor.run;
  }

  /** Something happened to an agent. False where nobody here works on it. */
  interruptWait(agentId: AgentId): boolean {
    const actor = this.#actors.get(agentId);
    if (!actor || actor.idle) return false;
    actor.wake(0);
    if (actor.run) void this.#lookAtMark(actor.run);
    return true;
  }

  /** Idle agents leave memory when there are more than enough; they come back on their next message. */
  forgetIdle(): void {
    let looks = LOOKS;
    for (const [agentId, actor] of this.#actors) {
      if (this.#actors.size <= this.#warm || looks-- === 0) return;
      this.#actors.delete(agentId);
      // Whoever is at work stands behind the others from now on: the next look need not pass all who are.
      if (!actor.idle || actor.summarising) this.#actors.set(agentId, actor);
    }
  }

  /** None of them is ours any more. */
  lose(): void {
    for (const actor of this.#actors.values()) actor.lose();
    this.#actors.clear();
  }

  /** Another node may have marked a run of ours to end: it does at once, and not at its next step. */
  async #lookAtMark(run: LiveRun): Promise<void> {
    try {
      const abort = (await this.#ports.store.run(run.id))?.abort;
      if (abort) run.end(abort.reason);
    } catch (error) {
      this.#ports.log.warn("could not look at a run's mark", { run: run.id, error: errorText(error) });
    }
  }
}
