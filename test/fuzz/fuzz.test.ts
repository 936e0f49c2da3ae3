import { expect, it } from "vitest";
import { randomFrom } from "./random.ts";
import { withTargets } from "./targets.ts";

// The whole of it is `npm run fuzz`.
const TRIES = 150;

it("answers whatever is sent with a clear 4xx, and takes no configuration it cannot read", async () => {
  const problems = await withTargets(async (targets) => {
    const found: string[] = [];
    for (const { name, tryOnce, seen } of targets) {
      for (let n = 0; n < TRIES; n++) {
        const problem = await tryOnce(randomFrom(7 * 1_000_003 + n)).catch((error: Error) => error.message);
        if (problem) found.push(`${name}, try ${n}: ${problem}`);
      }
      const answered = TRIES - (seen.get("no answer") ?? 0);
      if (answered < TRIES / 2) found.push(`${name}: only ${answered} of ${TRIES} were answered at all`);
    }
    return found;
  });
  expect(problems).toEqual([]);
});
