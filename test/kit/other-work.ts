/** Small steps of other work, one after the other, for tests that nothing blocks the process. */
import { stat } from "node:fs/promises";

/** `stop` returns how many steps were done. */
export function workUntilStopped(): { stop(): Promise<number> } {
  let steps = 0;
  let isStopped = false;
  const working = (async () => {
    for (; !isStopped; steps++) await stat("/");
  })();
  return {
    async stop() {
      isStopped = true;
      await working;
      return steps;
    },
  };
}
