/** Token buckets by name: each holds so many at most and fills up again with time. Bounded: who was not seen longest is forgotten. */

export interface Rate {
  readonly burst: number;
  readonly perSecond: number;
}

export class Buckets {
  readonly #now: () => number;
  readonly #most: number;
  readonly #buckets = new Map<string, { left: number; at: number }>();

  constructor(now: () => number, most = 10_000) {
    this.#now = now;
    this.#most = most;
  }

  /** Takes one out. Gives 0 where there was one, else the milliseconds until there will be. */
  take(name: string, rate: Rate): number {
    const wait = this.wait(name, rate);
    if (wait > 0) return wait;
    const bucket = this.#buckets.get(name) as { left: number; at: number };
    bucket.left -= 1;
    return 0;
  }

  /** As `take`, but takes nothing. */
  wait(name: string, { burst, perSecond }: Rate): number {
    const at = this.#now();
    const known = this.#buckets.get(name);
    const left = known ? Math.min(burst, known.left + Math.max(0, at - known.at) * (perSecond / 1000)) : burst;
    // The most recently seen stand last.
    this.#buckets.delete(name);
    this.#buckets.set(name, { left, at });
    if (this.#buckets.size > this.#most) {
      const [oldest] = this.#buckets.keys();
      if (oldest !== undefined) this.#buckets.delete(oldest);
    }
    return left >= 1 ? 0 : Math.ceil(((1 - left) / perSecond) * 1000);
  }
}
