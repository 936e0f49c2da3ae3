/** The program that is killed: a whole node with its gateway on a home, with the accounts that the parent names. */
import { flushCompileCache } from "node:module";
import { openEngine } from "../../../src/app/library/open-engine.ts";
import { parseConfig } from "../../../src/config/parse-config.ts";
import { homePaths } from "../../../src/config/paths.ts";
import { echoModel } from "./echo-model.ts";
import { untilQuiet } from "./until-quiet.ts";

// Where the parent has put optional packages.
const env = { ROOKERY_PACKAGES: process.env.ROOKERY_PACKAGES };
const [home = "", port = "", connectors = "{}"] = process.argv.slice(2);
const { config } = parseConfig({
  file: "crash",
  env: {},
  text: JSON.stringify({
    people: { unknown: "guest" },
    connectors: JSON.parse(connectors),
    // Nothing is dropped by the queue's cap: every message is answered.
    queue: { cap: 1_000 },
    log: { level: "warn" },
  }),
});
const engine = await openEngine({
  ...{ paths: homePaths(home), config, connectors: [], model: echoModel, env, stays: true },
  times: { outbox: { retryMinMs: 50, retryMaxMs: 500 } },
  rootToken: () => "root-0123456789abcdef0123456789abcdef",
  onFatal: (error) => {
    console.error(error);
    process.exit(1);
  },
});
const gateway = await engine.served.listen({ port: Number(port), host: "127.0.0.1" });
void gateway;
flushCompileCache();
await untilQuiet(engine.node, () => engine.close());
