/** `rookery home`: where everything is kept. */
import { existsSync } from "node:fs";
import { defineAction } from "../command.ts";

export const homeCommand = defineAction({
  summary: "show where everything is kept",
  description: "Lists the places of a home. Nothing is read or made.",
  run({ paths, json, stdout }) {
    if (json) stdout.write(`${JSON.stringify(paths)}\n`);
    else {
      for (const [name, path] of Object.entries(paths)) {
        stdout.write(`${name.padEnd(9)}  ${path}${existsSync(path) ? "" : "  (not there yet)"}\n`);
      }
    }
    return undefined;
  },
});
