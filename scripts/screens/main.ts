/** `npm run tool -- screens [offline|background|online|demo]`: records the pictures of the docs and the README, and the golden files that a test compares. */
import { mkdirSync, writeFileSync } from "node:fs";
import { goldenOf } from "./golden.ts";
import { backgroundStates, demoStates, offlineStates, onlineStates, type Show } from "./states.ts";
import { svgOf } from "./terminal-svg.ts";

const GOLDEN = "test/golden";

const record: Show = async (name, { terminal }, title) => {
  // Waits for details that arrive a little later, such as today's cost.
  await new Promise((resolve) => setTimeout(resolve, 700));
  writeFileSync(`docs/${name}.svg`, svgOf(terminal, { title }));
  if (name !== "demo") writeFileSync(`${GOLDEN}/${name}.txt`, goldenOf(terminal));
  console.log(`docs/${name}.svg`);
};

mkdirSync(GOLDEN, { recursive: true });
const wanted = process.argv.slice(2);
for (const [name, states] of Object.entries({
  offline: offlineStates,
  background: backgroundStates,
  online: onlineStates,
  demo: demoStates,
})) {
  if (wanted.length === 0 || wanted.includes(name)) await states(record);
}
process.exit(0);
