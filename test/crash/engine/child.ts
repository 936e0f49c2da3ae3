/**
 * The program that is killed: a whole node on a home, with channels that talk to the parent over pipes, a model that
 * takes 50 ms and a tool that must not be repeated.
 */
import { createInterface } from "node:readline";
import { z } from "zod";
import { openNode } from "../../../src/app/node/open-node.ts";
import { parseConfig } from "../../../src/config/parse-config.ts";
import { homePaths } from "../../../src/config/paths.ts";
import type { Connector, ConnectorHost } from "../../../src/core/ports/connector.ts";
import type { Model, ModelMessage } from "../../../src/core/ports/model.ts";
import type { Tool } from "../../../src/core/ports/tool.ts";
import { CHANNELS, ENOUGH_RUNS, type FromChild, type ToChild } from "./wire.ts";

const [home = "", mutation, sharedStore, leaseSeconds = "3"] = process.argv.slice(2);
const MODEL_MS = 50;
const TOOL_MS = 60;

const tell = (said: FromChild): void => void process.stdout.write(`${JSON.stringify(said)}\n`);
const pass = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const textOf = (message: ModelMessage | undefined): string =>
  (message?.content ?? []).flatMap((block) => (block.type === "text" ? [block.text] : [])).join("");

let runs = 0;
let tools = 0;
let wanted: "runs" | "tool" | undefined;
function perhapsNow(): void {
  if (wanted === undefined || runs < ENOUGH_RUNS || (wanted === "tool" && tools === 0)) return;
  wanted = undefined;
  tell({ say: "now", runs, tools });
}

const usage = { input: 10, output: 5, cacheRead: 0, cacheWrite: 0, totalTokens: 15 };
const about = { api: "scripted", provider: "scripted", model: "scripted", usage };
const model: Model = {
  async call({ messages }) {
    // The charge is recorded before the answer is returned.
    tell({ say: "charge", tokens: usage.totalTokens });
    await pass(MODEL_MS);
    const last = messages.at(-1);
    const asked = messages.findLast((message) => message.role === "user");
    if (last?.role === "user" && textOf(last).includes("tool")) {
      const id = `call-${/⟦(\w+)⟧/u.exec(textOf(last))?.[1]}`;
      return { ...about, content: [{ type: "toolCall", id, name: "once", arguments: {} }], stopReason: "tool_calls" };
    }
    return { ...about, content: [{ type: "text", text: `answer to ${textOf(asked)}` }], stopReason: "stop" };
  },
};

const once: Tool = {
  name: "once",
  description: "Does something that must not be done twice.",
  input: z.object({}),
  rights: [],
  replay: mutation === "tool-again" ? "safe" : "never",
  parallel: false,
  maxOutput: 1_000,
  async execute(_input, { callId }) {
    tools += 1;
    tell({ say: "exec", callId });
    perhapsNow();
    await pass(TOOL_MS);
    tools -= 1;
    return { content: [{ type: "text", text: "done" }] };
  },
};

const hosts = new Map<string, ConnectorHost>();
const connectors = CHANNELS.map(
  (name): Connector => ({
    name,
    capabilities: { sendText: true },
    sendingClass: name === "knowing" || mutation === "send-again" ? "idempotent" : "ambiguous",
    async start(host) {
      hosts.set(name, host);
    },
    async stop() {},
    health: () => ({ ok: true, detail: "" }),
    async send({ id, target, payload }) {
      tell({ say: "show", channel: name, id, person: target.to ?? "", text: payload.text ?? "" });
      // A pause in which a kill can hit the mutation, so that its test does not depend on luck.
      await pass(mutation === "send-again" ? 80 : 5);
      return { status: "sent" };
    },
  }),
);

const { config } = parseConfig({
  text: `{ queue: { mode: "queue", cap: 10000 }, log: { level: "error" }, store: { leaseSeconds: ${leaseSeconds} },
    ${sharedStore ? "" : "budgets: { day: { tokens: 1000000000000 } }"} }`,
  file: "rookery.json5",
  env: {},
});
const node = await openNode({
  paths: { ...homePaths(home), sharedStore },
  config,
  env: {},
  connectors,
  model,
  tools: { list: () => [once], find: (_agent, name) => (name === "once" ? once : undefined) },
  onFatal(error) {
    throw error;
  },
});
node.agents.events.listen((event) => {
  if (event.type === "start" || event.type === "restart") runs += 1;
  if (event.type === "end") runs -= 1;
  perhapsNow();
});
tell({ say: "up" });

for await (const line of createInterface({ input: process.stdin })) {
  const heard = JSON.parse(line) as ToChild;
  if (heard.say === "in") {
    const { channel, person, id, text } = heard;
    const incoming = {
      connector: channel,
      userId: person,
      channelId: person,
      messageId: id,
      text,
      delivery: { channel, to: person },
    };
    const accept = async (): Promise<void> => {
      await hosts.get(channel)?.accept(incoming);
      tell({ say: "ack", id });
    };
    // The store is down: the writer submits the message again.
    accept().catch(() => tell({ say: "refused", id }));
  } else if (heard.say === "when") {
    wanted = heard.what;
    perhapsNow();
  } else {
    let rests = false;
    // Deliveries that wait for a retry count as work too.
    do {
      await node.agents.settled();
      await pass(50);
      // Includes agents of other nodes and without an owner: all work ends before the first node leaves.
      const { store } = node.ports;
      rests =
        (await store.deliveries({ limit: 1 })).length === 0 && (await store.busyAgents({ limit: 1 })).length === 0;
    } while (!rests);
    tell({ say: "quiet" });
    await node.close();
    process.exit(0);
  }
}
