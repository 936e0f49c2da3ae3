/**
 * Rate limits by name, one token bucket each: a bucket holds at most `burst` and refills over time. Memory is bounded:
 * the name unused for longest is forgotten first.
 */

interface Rate {
  readonly burst: number;
  readonly perSecond: number;
}

export class RateLimiter {
  readonly #now: () => number;
  readonly #maxNames: number;
  readonly #buckets = new Map<string, { left: number; at: number }>();

  constructor(now: () => number, maxNames = 10_000) {
    this.#now = now;
    this.#maxNames = maxNames;
  }

  /** Takes one permit. Returns 0 on success, otherwise the milliseconds until a permit is free. */
  take(name: string, rate: Rate): number {
    const wait = this.wait(name, rate);
    if (wait > 0) return wait;
    const bucket = this.#buckets.get(name) as { left: number; at: number };
    bucket.left -= 1;
    return 0;
  }

  /** The milliseconds until a permit is free. Takes none. */
  wait(name: string, { burst, perSecond }: Rate): number {
    const at = this.#now();
    const known = this.#buckets.get(name);
    const left = known ? Math.min(burst, known.left + Math.max(0, at - known.at) * (perSecond / 1000)) : burst;
    // Insertion order is order of use: the map's first name is the one unused for longest.
    this.#buckets.delete(name);
    this.#buckets.set(name, { left, at });
    if (this.#buckets.size > this.#maxNames) {
      const [oldest] = this.#buckets.keys();
      if (oldest !== undefined) this.#buckets.delete(oldest);
    }
    return left >= 1 ? 0 : Math.ceil(((1 - left) / perSecond) * 1000);
  }
}
