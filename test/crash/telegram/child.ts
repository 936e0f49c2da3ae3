/** The program that is killed: a whole node on a home, connected to the Bot API server of the parent, with a model that repeats what it was told. */
import { flushCompileCache } from "node:module";
import { createInterface } from "node:readline";
import { openNode } from "../../../src/app/node/open-node.ts";
import { parseConfig } from "../../../src/config/parse-config.ts";
import { homePaths } from "../../../src/config/paths.ts";
import type { Model, ModelMessage } from "../../../src/core/ports/model.ts";

const [home = "", apiRoot = "", mutation = ""] = process.argv.slice(2);
const pass = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const textOf = (message: ModelMessage): string =>
  message.content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("");

const usage = { input: 10, output: 5, cacheRead: 0, cacheWrite: 0, totalTokens: 15 };
const about = { api: "scripted", provider: "scripted", model: "scripted", usage };
const model: Model = {
  async call({ messages }, signal, onEvent) {
    const last = messages.findLastIndex(({ role }) => role === "assistant");
    const said = messages
      .slice(last + 1)
      .map(textOf)
      .join("\n");
    onEvent({ type: "text", delta: "working on it" });
    // A slow one waits for its Stop.
    const until = said.includes("slow") ? 4_000 : 20 + (said.length % 7) * 40;
    for (let waited = 0; waited < until && !signal.aborted; waited += 20) await pass(20);
    const tokens = [...new Set(said.match(/⟦\w+⟧/gu) ?? [])].join(" ");
    if (signal.aborted) {
      const error = { class: "aborted", message: "aborted" } as const;
      return { ...about, content: [], stopReason: "aborted", error };
    }
    return { ...about, content: [{ type: "text", text: `answer to ${tokens}` }], stopReason: "stop" };
  },
};

const config = parseConfig({
  file: "crash",
  env: {},
  text: JSON.stringify({
    people: { unknown: "guest" },
    connectors: { telegram: { token: "123456:fake-token", apiRoot, pollSeconds: 2 } },
    outbox: { retryMinMs: 50, retryMaxMs: 500 },
    // Nothing is dropped by the queue's cap: every message is answered.
    queue: { cap: 1_000 },
    log: { level: "warn" },
  }),
}).config;

const node = await openNode({
  ...{ paths: homePaths(home), config, connectors: [], model, env: {}, stays: true, trialAfterMs: 1_000 },
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
process.stdout.write("up\n");
for await (const line of createInterface({ input: process.stdin })) {
  if (line !== "end") continue;
  for (;;) {
    await node.agents.settled();
    const open = await node.ports.store.deliveries({ limit: 10, states: ["pending", "sending"] });
    const busy = await node.ports.store.busyAgents({ limit: 1 });
    if (open.length === 0 && busy.length === 0) break;
    await pass(50);
  }
  await node.close();
  process.stdout.write("quiet\n");
  process.exit(0);
}
