/** `rookery home`: shows the paths of the home directory. */
import { existsSync } from "node:fs";
import { defineAction } from "../command.ts";

export const homeCommand = defineAction({
  summary: "show the paths of the home directory",
  description: "Prints the path of every file and directory. Reads and creates nothing.",
  run({ paths, json, stdout }) {
    if (json) stdout.write(`${JSON.stringify(paths)}\n`);
    else {
      for (const [name, path] of Object.entries(paths)) {
        stdout.write(`${name.padEnd(9)}  ${path}${existsSync(path) ? "" : "  (does not exist yet)"}\n`);
      }
    }
    return undefined;
  },
});
