/** Lets one caller through at a time, in order: runs that crashed before are resumed one after another (M13). */
export class Mutex {
  #last: Promise<void> = Promise.resolve();

  /** Resolves when it is this caller's turn, with the function to leave. Leaving twice does nothing. */
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
