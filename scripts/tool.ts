/** `npm run tool -- NAME [options]`: starts one of the tools; without a name it lists them. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { closestWord } from "../src/core/closest-word.ts";
import { TOOLS, toolsHelp } from "./tools.ts";

const [name = "--help", ...args] = process.argv.slice(2);
const tool = Object.hasOwn(TOOLS, name) ? TOOLS[name] : undefined;

if (tool) {
  const file = join(import.meta.dirname, "..", tool.file);
  process.exitCode = spawnSync(process.execPath, [file, ...args], { stdio: "inherit" }).status ?? 1;
} else if (name === "--help" || name === "-h") {
  console.log(toolsHelp());
} else {
  const closest = closestWord(name, Object.keys(TOOLS));
  console.error(`There is no tool "${name}".${closest ? ` Did you mean "${closest}"?` : ""}\n\n${toolsHelp()}`);
  process.exitCode = 2;
}
