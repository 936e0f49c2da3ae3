/** A door that lets one through at a time, in order. */
export class Mutex {
  #last: Promise<void> = Promise.resolve();

  /** Resolves when it is this caller's turn, with the way out. Leaving twice does nothing. */
  async enter(): Promise<() => void> {
    const before = this.#last;
    let leave: () => void = () => {};
    this.#last = new Promise((resolve) => {
      leave = resolve;
    });
    await before;
    return leave;
  }
}
