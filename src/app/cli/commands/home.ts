/** `rookery home`: shows the paths of the home directory. */
import { existsSync } from "node:fs";
import { defineAction } from "../command.ts";
import { printResult } from "../print.ts";

export const homeCommand = defineAction({
  summary: "show the paths of the home directory",
  description: "Prints the path of every file and directory. Reads and creates nothing.",
  run(context) {
    const { paths } = context;
    const lines = Object.entries(paths).map(
      ([name, path]) => `${name.padEnd(9)}  ${path}${existsSync(path) ? "" : "  (does not exist yet)"}`,
    );
    return printResult(context, paths, lines.join("\n"));
  },
});
