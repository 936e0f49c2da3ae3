/**
 * One node of the scaling bench: a whole engine on a shared store, a model that takes 200 ms and a channel to the parent
 * over pipes.
 */
import { createInterface } from "node:readline";
import { openNode } from "../../src/app/node/open-node.ts";
import { parseConfig } from "../../src/config/parse-config.ts";
import { homePaths } from "../../src/config/paths.ts";
import type { Model } from "../../src/core/ports/model.ts";
import { channelTo } from "../channel.ts";

const [home = "", sharedStore = "", lane = "64", modelMs = "200"] = process.argv.slice(2);
const tell = (said: object): void => void process.stdout.write(`${JSON.stringify(said)}\n`);
const usage = { input: 10, output: 5, cacheRead: 0, cacheWrite: 0, totalTokens: 15 };

const model: Model = {
  async call() {
    await new Promise((resolve) => setTimeout(resolve, Number(modelMs)));
    const content = [{ type: "text" as const, text: "a short answer, as most are" }];
    return { api: "bench", provider: "bench", model: "bench", usage, content, stopReason: "stop" };
  },
};

const channel = channelTo((done) => tell({ done }));

const { config } = parseConfig({
  text: `{ people: { unknown: "guest" }, queue: { mode: "queue", cap: 10000 }, log: { level: "error" }, runs: { maxConcurrent: ${lane} } }`,
  file: "rookery.json5",
  env: {},
});
const node = await openNode({
  paths: { ...homePaths(home), sharedStore },
  config,
  connectors: [channel.connector],
  model,
  env: {},
  tools: { list: () => [], find: () => undefined },
  onFatal(error) {
    throw error;
  },
});
tell({ up: true });
for await (const line of createInterface({ input: process.stdin })) {
  const heard = JSON.parse(line) as { to?: string; id?: string; end?: true };
  if (heard.to !== undefined) {
    void channel.say(heard.to, heard.id ?? "", "What is the weather like where you are?");
  }
  if (heard.end) break;
}
await node.close();
process.exit(0);
