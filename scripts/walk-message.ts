/**
 * `npm run tool -- walk`: prints the modules that one message enters, in order, from the terminal, over HTTP and from Telegram, with three
 * figures; `--files` prints files. `--write` updates docs/internals/message-path.md, `--check` fails if its table shows other modules.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { mergePage, pageProblems } from "./walk/module-table.ts";
import { figuresOf, filesOf, modulesOf, SURFACES } from "./walk/trace.ts";
import { walkMessages } from "./walk/walk.ts";

const PAGE = "docs/internals/message-path.md";

const traces = await walkMessages();
const path = join(import.meta.dirname, "..", PAGE);
const page = readFileSync(path, "utf8");
const flags = process.argv.slice(2);
if (flags.includes("--write")) writeFileSync(path, mergePage(page, traces));
const shown = flags.includes("--write") ? readFileSync(path, "utf8") : page;
if (flags.includes("--check") || flags.includes("--write")) {
  const problems = pageProblems(shown, traces);
  for (const problem of problems) console.error(`${PAGE}: ${problem}`);
  if (problems.length > 0) process.exitCode = 1;
} else {
  const list = flags.includes("--files") ? filesOf : modulesOf;
  for (const surface of SURFACES) console.log(`${surface}\n${indented(list(traces[surface]))}\n`);
}
for (const surface of SURFACES) {
  const { files, modules, switches } = figuresOf(traces[surface]);
  console.log(`${surface}: ${files} files, ${modules} modules, ${switches} module switches`);
}

function indented(lines: readonly string[]): string {
  return lines.map((line) => `  ${line}`).join("\n");
}
