import { expect, it } from "vitest";
import { ALL } from "../kit/share.ts";
import { fuzz } from "./target.ts";
import { withTargets } from "./targets.ts";

// `npm run fuzz` tries far more.
const TRIES = ALL ? 150 : 40;
const SEED = 7;

it("answers malformed requests with a 4xx, and refuses malformed configurations", async () => {
  const problems = await withTargets(async (targets) => {
    const found: string[] = [];
    for (const target of targets) {
      found.push(...(await fuzz(target, TRIES, SEED)));
      const answered = TRIES - (target.seen.get("no answer") ?? 0);
      if (answered < TRIES / 2) found.push(`${target.name}: only ${answered} of ${TRIES} tries were answered`);
    }
    return found;
  });
  expect(problems).toEqual([]);
});
