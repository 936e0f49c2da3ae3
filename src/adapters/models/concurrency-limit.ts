/** Limits the concurrent calls of one provider, first come first served. A wait holds no timer and ends with its signal. */

export class ConcurrencyLimit {
  readonly #size: number;
  #active = 0;
  readonly #queue: (() => void)[] = [];

  constructor(size: number) {
    this.#size = size;
  }

  get active(): number {
    return this.#active;
  }

  /** Resolves with the function that releases the slot, or with undefined if the signal aborted first. */
  async acquire(signal: AbortSignal): Promise<(() => void) | undefined> {
    if (signal.aborted) return undefined;
    if (this.#active < this.#size) this.#active += 1;
    else if (!(await this.#wait(signal))) return undefined;
    let released = false;
    return () => {
      if (released) return;
      released = true;
      // The slot passes to the next in line directly, so a later caller cannot take it in between.
      const next = this.#queue.shift();
      if (next) next();
      else this.#active -= 1;
    };
  }

  #wait(signal: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      const go = (): void => {
        signal.removeEventListener("abort", leave);
        resolve(true);
      };
      const leave = (): void => {
        this.#queue.splice(this.#queue.indexOf(go), 1);
        resolve(false);
      };
      this.#queue.push(go);
      signal.addEventListener("abort", leave, { once: true });
    });
  }
}
