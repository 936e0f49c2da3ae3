/** A promise that a test resolves: what waits at the gate goes on when the test opens it. */
export function gate<T = void>(): { promise: Promise<T>; open: (value: T) => void } {
  const { promise, resolve } = Promise.withResolvers<T>();
  return { promise, open: resolve };
}
