/** `rookery version`: the same as `--version`. Its JSON also names the version of Node. */
import { readVersion } from "../../../adapters/system/version.ts";
import { defineAction } from "../command.ts";

export const versionCommand = defineAction({
  summary: "show the version",
  run({ stdout, json }) {
    const version = readVersion();
    stdout.write(json ? `${JSON.stringify({ version, node: process.versions.node })}\n` : `${version}\n`);
    return undefined;
  },
});
