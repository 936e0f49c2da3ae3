/**
 * Who waits for whom. A wait that would close a circle of agents is refused before it begins (M11), and every wait
 * settles: with what it waited for, or with a typed error when its time is up.
 */
import type { Clock } from "../core/clock.ts";
import { TimeoutError, WaitCycleError } from "../core/errors.ts";
import type { AgentId } from "../core/ids.ts";

export class Waits<Result> {
  readonly #clock: Clock;
  readonly #waiters = new Map<string, Set<(result: Result) => void>>();
  /** How often an agent waits for another. */
  readonly #edges = new Map<AgentId, Map<AgentId, number>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Says that one agent waits for another, until the returned function is called. Throws where that closes a circle. */
  hold(from: AgentId, on: AgentId): () => void {
    if (this.#reaches(on, from)) {
      throw new WaitCycleError(`Agent ${from} cannot wait for ${on}: ${on} is waiting for it.`, {
        hint: "Send the message without waiting for its answer.",
      });
    }
    this.#count(from, on, 1);
    let held = true;
    return () => {
      if (held) this.#count(from, on, -1);
      held = false;
    };
  }

  /** Waits for a key to be settled. */
  wait(key: string, timeoutMs: number): Promise<Result> {
    return new Promise<Result>((resolve, reject) => {
      const waiters = this.#waiters.get(key) ?? new Set();
      this.#waiters.set(key, waiters);
      const leave = (): void => {
        cancel();
        waiters.delete(settle);
        if (waiters.size === 0) this.#waiters.delete(key);
      };
      const settle = (result: Result): void => {
        leave();
        resolve(result);
      };
      const cancel = this.#clock.after(timeoutMs, () => {
        leave();
        reject(
          new TimeoutError(`No answer within ${timeoutMs} ms.`, {
            hint: "The message stays accepted; its answer will come.",
          }),
        );
      });
      waiters.add(settle);
    });
  }

  settle(key: string, result: Result): void {
    for (const settle of [...(this.#waiters.get(key) ?? [])]) settle(result);
  }

  has(key: string): boolean {
    return this.#waiters.has(key);
  }

  keys(): readonly string[] {
    return [...this.#waiters.keys()];
  }

  #reaches(from: AgentId, to: AgentId): boolean {
    const seen = new Set<AgentId>();
    const next: AgentId[] = [from];
    for (let agent = next.pop(); agent !== undefined; agent = next.pop()) {
      if (agent === to) return true;
      if (seen.has(agent)) continue;
      seen.add(agent);
      next.push(...(this.#edges.get(agent)?.keys() ?? []));
    }
    return false;
  }

  #count(from: AgentId, on: AgentId, by: number): void {
    const edges = this.#edges.get(from) ?? new Map<AgentId, number>();
    this.#edges.set(from, edges);
    const count = (edges.get(on) ?? 0) + by;
    if (count > 0) edges.set(on, count);
    else edges.delete(on);
    if (edges.size === 0) this.#edges.delete(from);
  }
}
