/** Executes the commands of the quickstart in a fresh home and compares their output with the page. */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readPage } from "./markdown.ts";
import { ROOT } from "./pages.ts";

interface Step {
  readonly command: string;
  readonly output: readonly string[];
}

function stepsOf(text: string): readonly Step[] {
  const steps: { command: string; output: string[] }[] = [];
  for (const line of text.split("\n")) {
    if (line.startsWith("$ ")) steps.push({ command: line.slice(2), output: [] });
    else steps.at(-1)?.output.push(line);
  }
  return steps;
}

/** Ids and times differ from one execution to the next. */
const withoutIds = (line: string): string =>
  line
    .replace(/[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}/g, "‹id›")
    .replace(/(?:just )?now {2,}|\d+ \w+ ago {2,}/g, "‹time›  ")
    .trimEnd();

/** `…` stands for anything up to the end of the line. */
const expectedLine = (line: string): unknown => {
  const [begin = "", ...rest] = withoutIds(line).split("…");
  return rest.length === 0 ? begin : expect.stringContaining(begin);
};

describe("docs/quickstart.md", () => {
  it("shows what its commands print", () => {
    const home = mkdtempSync(join(tmpdir(), "rookery-readme-"));
    try {
      // No key and no model server of this machine may replace the offline model.
      mkdirSync(join(home, ".rookery"), { mode: 0o700 });
      writeFileSync(join(home, ".rookery/rookery.json5"), "{ models: { detect: false } }", { mode: 0o600 });
      const { PATH, NODE_COMPILE_CACHE } = process.env;
      const env = { PATH, NODE_COMPILE_CACHE, HOME: home };
      const { blocks } = readPage(readFileSync(join(ROOT, "docs/quickstart.md"), "utf8"));
      const steps = blocks.filter(({ language }) => language === "console").flatMap(({ text }) => stepsOf(text));
      expect(steps.length).toBeGreaterThan(2);
      for (const { command, output } of steps) {
        const program = `"${join(ROOT, "node_modules/.bin/node")}" "${join(ROOT, "src/main.ts")}"`;
        const line = command.replace(/npm start(?: --)?/g, program);
        const printed = execFileSync("bash", ["-c", line], { cwd: home, env, encoding: "utf8" });
        const lines = printed.replace(/\n$/, "").split("\n").map(withoutIds);
        expect(lines, command).toEqual(output.map(expectedLine));
      }
    } finally {
      rmSync(home, { recursive: true, force: true });
    }
  });
});
