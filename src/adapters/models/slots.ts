/** So many calls of one provider at a time, first come first served. Waiting holds no timer and ends with its signal. */

export class Slots {
  readonly #size: number;
  #taken = 0;
  readonly #queue: (() => void)[] = [];

  constructor(size: number) {
    this.#size = size;
  }

  get taken(): number {
    return this.#taken;
  }

  /** Resolves with how to give the slot back, or with undefined where the signal aborted first. */
  async take(signal: AbortSignal): Promise<(() => void) | undefined> {
    if (signal.aborted) return undefined;
    if (this.#taken < this.#size) this.#taken += 1;
    else if (!(await this.#turn(signal))) return undefined;
    let given = false;
    return () => {
      if (given) return;
      given = true;
      // Handed on, not given up and taken again: nobody slips in between.
      const next = this.#queue.shift();
      if (next) next();
      else this.#taken -= 1;
    };
  }

  #turn(signal: AbortSignal): Promise<boolean> {
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
