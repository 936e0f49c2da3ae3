/** A serving engine of its own process: prints its address, and its processor time whenever it is asked. */
import { createInterface } from "node:readline";
import { serve } from "../../src/app/library/serve.ts";
import { parseConfig } from "../../src/config/parse-config.ts";
import { homePaths } from "../../src/config/paths.ts";

const [home = "", apiRoot = "", token = ""] = process.argv.slice(2);
const { config } = parseConfig({
  file: "load",
  env: {},
  text: JSON.stringify({
    people: { unknown: "guest" },
    connectors: { telegram: { token: "123456:fake-token", apiRoot, drafts: false, reactions: false } },
    log: { level: "warn" },
  }),
});
const serving = await serve({
  ...{ paths: homePaths(home), config, env: { ROOKERY_TOKEN: token }, port: 0 },
  onFatal: (error) => {
    console.error(error);
    process.exit(1);
  },
});
process.stdout.write(`${JSON.stringify({ url: serving.gateway.url })}\n`);
for await (const line of createInterface({ input: process.stdin })) {
  if (line === "cpu") {
    const { user, system } = process.cpuUsage();
    process.stdout.write(`${JSON.stringify({ cpuMs: (user + system) / 1_000 })}\n`);
  } else if (line === "end") {
    await serving.close();
    process.exit(0);
  }
}
