/**
 * The program that is killed: a whole node on a home, with channels that talk to the parent over pipes, a model that
 * takes 50 ms or as long as the message says, a tool that must not be repeated, and one that kills this process.
 */
import { flushCompileCache } from "node:module";
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

const runs = new Set<string>();
let tools = 0;
let sends = 0;
let wanted: Extract<ToChild, { say: "when" }>["what"] | undefined;
function isEnough(): boolean {
  if (wanted === "send") return sends > 0;
  return wanted === "any" || (runs.size >= ENOUGH_RUNS && (wanted === "runs" || tools > 0));
}
function perhapsNow(): void {
  if (wanted === undefined || !isEnough()) return;
  wanted = undefined;
  tell({ say: "now", runs: runs.size, tools });
}

const usage = { input: 10, output: 5, cacheRead: 0, cacheWrite: 0, totalTokens: 15 };
const about = { api: "scripted", provider: "scripted", model: "scripted", usage };
const model: Model = {
  async call({ messages }) {
    // The charge is recorded before the answer is returned.
    tell({ say: "charge", tokens: usage.totalTokens });
    const last = messages.at(-1);
    const asked = messages.findLast((message) => message.role === "user");
    await pass(Number(/takes (\d+)/u.exec(textOf(asked))?.[1] ?? MODEL_MS));
    if (last?.role === "user" && textOf(last).includes("kills")) {
      return {
        ...about,
        content: [{ type: "toolCall", id: "die", name: "die", arguments: {} }],
        stopReason: "tool_calls",
      };
    }
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

/** A tool that may be repeated, and kills the process whenever it is. */
const die: Tool = {
  ...once,
  name: "die",
  description: "Kills the process.",
  replay: "safe",
  async execute() {
    tell({ say: "dying" });
    await pass(20);
    process.kill(process.pid, "SIGKILL");
    await pass(60_000);
    return { content: [{ type: "text", text: "survived" }] };
  },
};
const TOOLS: readonly Tool[] = [once, die];

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
      const isBlind = name === "blind";
      if (isBlind) sends += 1;
      // This send waits for the kill, so that its test does not depend on luck.
      const isLast = isBlind && wanted === "send";
      perhapsNow();
      await pass(isLast ? 10_000 : 5);
      if (isBlind) sends -= 1;
      return { status: "sent" };
    },
  }),
);

const { config } = parseConfig({
  text: `{ people: { unknown: "guest" }, queue: { mode: "queue", cap: 10000 }, log: { level: "error" }, store: { leaseSeconds: ${leaseSeconds} },
    ${sharedStore ? "" : "budgets: { day: { tokens: 1000000000000 } }"} }`,
  file: "rookery.json5",
  env: {},
});
const node = await openNode({
  paths: { ...homePaths(home), sharedStore: sharedStore || undefined },
  config,
  env: {},
  connectors,
  model,
  tools: { list: () => TOOLS, find: (_agent, name) => TOOLS.find((tool) => tool.name === name) },
  onFatal(error) {
    throw error;
  },
});
node.agents.events.listen((event) => {
  // Runs that were resumed before this line are seen at their next event.
  if (event.type === "end") runs.delete(event.runId);
  else runs.add(event.runId);
  perhapsNow();
});
tell({ say: "up" });
// A process that is killed does not write it by itself.
flushCompileCache();

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
    // A send that is in progress may end before the kill: wait for the next one.
    if (wanted !== "send") perhapsNow();
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
