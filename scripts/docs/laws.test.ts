/** Compares the laws in docs/guarantees.md with the laws that the simulation's auditor checks and its mutations break. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ROOT } from "./pages.ts";

const page = readFileSync(join(ROOT, "docs/guarantees.md"), "utf8");
const rows = [...page.matchAll(/^\| (L\d+) +\| .* \| (.*) \|$/gm)].map(([, law = "", by = ""]) => ({
  law,
  by,
}));
const inSimulation = rows.filter(({ by }) => by.startsWith("simulation")).map(({ law }) => law);

/** The laws that files of the simulation name as strings. */
function lawsIn(isWanted: (path: string) => boolean): readonly string[] {
  const files = globSync("test/sim/**/*.ts", { cwd: ROOT }).filter(
    (path) => !path.endsWith(".test.ts") && isWanted(path),
  );
  const laws = files.flatMap((path) => readFileSync(join(ROOT, path), "utf8").match(/(?<=")L\d+(?=")/g) ?? []);
  return [...new Set(laws)].sort((a, b) => Number(a.slice(1)) - Number(b.slice(1)));
}

describe("the laws", () => {
  it("are L1 to L14, in order", () => {
    expect(rows.map(({ law }) => law)).toEqual(Array.from({ length: 14 }, (_, n) => `L${n + 1}`));
  });

  it("are marked as simulated if the auditor checks them", () => {
    expect(inSimulation).toEqual(lawsIn((path) => /audit/.test(path) && !/mutation/.test(path)));
  });

  it("have a mutation that breaks them if they are marked as simulated", () => {
    expect(inSimulation).toEqual(lawsIn((path) => /mutation/.test(path)));
  });
});
