/** The main states of the chat look as they are committed: every cell, with its colour and weight. `npm run tool -- screens` records them. */
import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { goldenOf } from "../../scripts/screens/golden.ts";
import { backgroundStates, offlineStates, onlineStates, type Show } from "../../scripts/screens/states.ts";

const GOLDEN = new URL("../golden/", import.meta.url);
const seen: string[] = [];

const compare: Show = async (name, terminal) => {
  seen.push(`${name}.txt`);
  const golden = readFileSync(new URL(`${name}.txt`, GOLDEN), "utf8");
  // Waits for details that come a little later, such as today's cost.
  await terminal.until(() => goldenOf(terminal.terminal) === golden).catch(() => undefined);
  expect(goldenOf(terminal.terminal), `${name}: look at it with \`npm run tool -- screens\``).toBe(golden);
};

it("shows the first screen with an engine of its own, at 80 and at 40 columns", () => offlineStates(compare));
it("shows the report of a background agent, and completes commands", () => backgroundStates(compare));
it("shows a question, what always would store, streaming, 40 columns, and that the engine is away", () =>
  onlineStates(compare));
it("has no golden file without a state", () => {
  expect(seen.toSorted()).toEqual(readdirSync(GOLDEN).toSorted());
});
