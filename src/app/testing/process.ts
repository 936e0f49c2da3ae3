/** One process of a test engine. A dead process starts nothing and never receives the answer to a call it made. */
export interface TestProcess {
  alive: boolean;
  readonly name: string;
}

/** Work that needs no time: `TestEngine.settle` waits until none is in flight and the count no longer changes. */
export interface Activity {
  inFlight: number;
  count: number;
}

/** Settles as `start()` does, as long as the process is alive then. Never settles for a dead process. */
export function whileAlive<T>(process: TestProcess, start: () => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    if (!process.alive) return;
    start().then(
      (value) => process.alive && resolve(value),
      (error) => process.alive && reject(error),
    );
  });
}
