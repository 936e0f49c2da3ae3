/** Executes the commands of the quickstart and the tutorials in a fresh directory and compares their output with the page. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { fileName, readPage } from "./markdown.ts";
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

/** Ids and times differ from one execution to the next, and so does the width of their columns. */
const withoutIds = (line: string): string =>
  line
    .replace(/[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}/g, "‹id›")
    .replace(/\b[0-9a-f]{8}-[0-9a-f]{4}\b/g, "‹id›")
    .replace(/\b[a-z][a-z0-9]{23}\b/g, "‹id›")
    .replace(/(?:just )?now(?= {2})|\d+ \w+ ago(?= {2})/g, "‹time›")
    .replace(/ {2}\d+ (?:ms|s|min)(?= {2})/g, "  ‹time›")
    .replace(/(?<=\S) {2,}/g, "  ")
    .trimEnd();

/** `…` stands for anything up to the end of the line. */
const expectedLine = (line: string): unknown => {
  const [begin = "", ...rest] = withoutIds(line).split("…");
  return rest.length === 0 ? begin : expect.stringContaining(begin);
};

const bin = join(ROOT, "node_modules/.bin");
const PROGRAM = `"${join(bin, "node")}" "${join(ROOT, "src/main.ts")}"`;
/** `rookery serve` of a page listens on its default port; here on any free one. */
const toRun = (command: string): string =>
  command.replace(/npm start(?: --)?|npx rookery|\brookery(?= )/g, PROGRAM).replace(/ serve(?= )/, "$& --port 0");
const PACKAGE = new URL("../../test/kit/package-by-name.ts", import.meta.url).href;

/** An engine that a page left running. */
function stopEngine(home: string): void {
  const file = join(home, ".rookery/rookery.pid");
  if (!existsSync(file)) return;
  try {
    process.kill(Number(readFileSync(file, "utf8")), "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

it.each(["quickstart", "tutorial-build", "tutorial-operate", "tutorial-understand"])(
  "prints what docs/%s.md shows",
  (page) => {
    const home = mkdtempSync(join(tmpdir(), "rookery-transcript-"));
    try {
      // No key and no model server of this machine may replace the offline model.
      mkdirSync(join(home, ".rookery"), { mode: 0o700 });
      writeFileSync(join(home, ".rookery/rookery.json5"), "{ models: { default: 'offline' } }", { mode: 0o600 });
      symlinkSync(join(ROOT, "node_modules"), join(home, "node_modules"));
      writeFileSync(join(home, "package.json"), '{ "type": "module" }');
      const { PATH, NODE_COMPILE_CACHE } = process.env;
      const env = { PATH: `${bin}:${PATH}`, NODE_COMPILE_CACHE, HOME: home, NODE_OPTIONS: `--import ${PACKAGE}` };
      const { blocks } = readPage(readFileSync(join(ROOT, `docs/${page}.md`), "utf8"));
      for (const { text } of blocks) {
        const file = fileName(text);
        if (file !== undefined) writeFileSync(join(home, file), text);
      }
      const steps = blocks.filter(({ language }) => language === "console").flatMap(({ text }) => stepsOf(text));
      expect(steps.length).toBeGreaterThan(2);
      for (const { command, output } of steps) {
        const options = { cwd: home, env, encoding: "utf8", stdio: "pipe", timeout: 120_000 } as const;
        const printed = execFileSync("bash", ["-c", toRun(command)], options);
        const lines = printed.replace(/\n$/, "").split("\n").map(withoutIds);
        expect(lines, command).toEqual(output.length === 0 ? [""] : output.map(expectedLine));
      }
    } finally {
      stopEngine(home);
      rmSync(home, { recursive: true, force: true });
    }
  },
  180_000,
);
