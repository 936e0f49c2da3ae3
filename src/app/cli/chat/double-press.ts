/** Keys that mean more when they are pressed twice. */

/** Whether the same key was pressed just before. */
export function doublePress(withinMs: number): (key: string) => boolean {
  let last = { key: "", at: 0 };
  return (key) => {
    const before = last;
    last = { key, at: performance.now() };
    return before.key === key && last.at - before.at < withinMs;
  };
}
