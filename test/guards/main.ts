/** `npm run tool -- guards`: disables one guard after the other and lists those whose tests still pass. */
import { rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { readCommandLine } from "../kit/command-line.ts";
import { copyTree } from "../mutate/copy-tree.ts";
import { GUARDS } from "./guards.ts";
import { tryGuard } from "./try-guards.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");

const { values } = readCommandLine({
  name: "guards",
  about: "Disables one guard after the other in a copy of the tree and lists those whose tests still pass.",
  options: {
    only: { kind: "texts", shown: "TEXT", about: "Only guards whose name or test contains this." },
    list: { kind: "flag", about: "Lists the guards and tries nothing." },
  },
});

const chosen = GUARDS.filter(
  ({ name, test }) => values.only === undefined || values.only.some((text) => `${name} ${test}`.includes(text)),
);
if (values.list) for (const { name, test, title } of chosen) console.log(`${name}\n  ${test}: ${title}`);
else await tryAll();

async function tryAll(): Promise<void> {
  const directory = copyTree(ROOT);
  process.once("exit", () => rmSync(directory, { recursive: true, force: true }));
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(130));
  const tree = { directory, before: new Map() };
  let unproved = 0;
  for (const guard of chosen) {
    const verdict = await tryGuard(tree, guard);
    if (verdict.is !== "held") unproved += 1;
    const what = {
      held: () => (verdict.is === "held" ? `fails without it (${verdict.failed} of ${verdict.of})` : ""),
      passes: () => "PASSES WITHOUT IT",
      broken: () => (verdict.is === "broken" ? `BROKEN: ${verdict.why}` : ""),
    }[verdict.is]();
    console.log(`${guard.name}: ${what}\n  ${guard.test}: ${guard.title}`);
  }
  console.log(`${chosen.length - unproved} of ${chosen.length} guards are proved by a test that fails without them.`);
  if (unproved > 0) process.exitCode = 1;
}
