/** `rookery version`: the same as `--version`. Its JSON also names the version of Node. */
import { readVersion } from "../../../adapters/system/version.ts";
import { defineAction } from "../command.ts";
import { printResult } from "../print.ts";

export const versionCommand = defineAction({
  summary: "show the version",
  run(context) {
    const version = readVersion();
    return printResult(context, { version, node: process.versions.node }, version);
  },
});
