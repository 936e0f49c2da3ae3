/** The main states of the chat look as they are committed: every cell, with its colour and weight. `npm run tool -- screens` records them. */
import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { goldenOf } from "../../scripts/screens/golden.ts";
import { offlineStates, onlineStates, type Show } from "../../scripts/screens/states.ts";

const GOLDEN = new URL("../golden/", import.meta.url);
const seen: string[] = [];

const compare: Show = async (name, terminal) => {
  seen.push(`${name}.txt`);
  const golden = readFileSync(new URL(`${name}.txt`, GOLDEN), "utf8");
  // What comes a little later, such as today's cost, is on it too.
  await terminal.until(() => goldenOf(terminal.terminal) === golden).catch(() => undefined);
  expect(goldenOf(terminal.terminal), `${name}: look at it with \`npm run tool -- screens\``).toBe(golden);
};

it("with an engine of its own: first screen, background agent, completion, 40 columns", () => offlineStates(compare));
it("beside an engine: a question, the widths of always, streaming, 40 columns, the engine away", () =>
  onlineStates(compare));
it("has no golden file without a state", () => {
  expect(seen.toSorted()).toEqual(readdirSync(GOLDEN).toSorted());
});
