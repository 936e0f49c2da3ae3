/** The table of attacks in `docs/permissions.md` names tests that exist, one for each attack. */
import { readFileSync } from "node:fs";
import { expect, it, test } from "vitest";

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
const [, section = ""] = read("docs/permissions.md").split("## Attacks that are tried");
const rows = section
  .split("\n")
  .filter((line) => line.startsWith("| ") && line.includes(".test.ts"))
  .map((line) => line.split("|").map((cell) => cell.trim().replaceAll("`", "")))
  .map(([, attack = "", file = "", title = ""]) => [attack, file, title] as const);

it("has a row for each attack", () => {
  expect(rows.map(([attack]) => attack)).toEqual([
    ...["path", "symlink", "hard link", "race", "/proc", "argument", "environment"],
    ...[
      "SSRF by DNS",
      "SSRF by redirect",
      "planted program",
      "planted repository",
      "planted PATH",
      "attachment",
      "quote or forward",
      "planted skill",
      "cookie to another port",
      "planted cookie",
      "planted invitation",
      "command splitting",
    ],
  ]);
});

test.each(rows)("%s: %s has the test", (_, file, title) => {
  expect(read(file)).toContain(`("${title}"`);
});
