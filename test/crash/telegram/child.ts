/** The program that is killed: a whole node on a home, connected to the Bot API server of the parent, with a model that repeats its prompt. */
import { flushCompileCache } from "node:module";
import { openNode } from "../../../src/app/node/open-node.ts";
import { parseConfig } from "../../../src/config/parse-config.ts";
import { homePaths } from "../../../src/config/paths.ts";
import { echoModel } from "../channels/echo-model.ts";
import { untilQuiet } from "../channels/until-quiet.ts";

const [home = "", apiRoot = "", mutation = ""] = process.argv.slice(2);
const config = parseConfig({
  file: "crash",
  env: {},
  text: JSON.stringify({
    people: { unknown: "guest" },
    connectors: { telegram: { token: "123456:fake-token", apiRoot } },
    // Nothing is dropped by the queue's cap: every message is answered.
    queue: { cap: 1_000 },
    log: { level: "warn" },
  }),
}).config;

const node = await openNode({
  ...{ paths: homePaths(home), config, connectors: [], model: echoModel, env: {}, stays: true },
  times: { outbox: { retryMinMs: 50, retryMaxMs: 500 } },
  onFatal: (error) => {
    console.error(error);
    process.exit(1);
  },
});
if (mutation === "send-again") {
  const telegram = node.ports.connectors.get("telegram") as { sendingClass: string };
  telegram.sendingClass = "idempotent";
}
flushCompileCache();
await untilQuiet(node, () => node.close());
