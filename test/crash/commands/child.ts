/**
 * The program that is killed: a node whose model runs commands: one that is awaited, one in the background, and one that needs a
 * person's yes, which this program gives at once.
 */
import { createInterface } from "node:readline";
import { openNode } from "../../../src/app/node/open-node.ts";
import { parseConfig } from "../../../src/config/parse-config.ts";
import { homePaths } from "../../../src/config/paths.ts";
import { OWNER } from "../../../src/core/people/person.ts";
import type { Connector, ConnectorHost } from "../../../src/core/ports/connector.ts";
import type { Model, ModelMessage } from "../../../src/core/ports/model.ts";

const [home = "", mutation = ""] = process.argv.slice(2);
const tell = (said: object): void => void process.stdout.write(`${JSON.stringify(said)}\n`);
const pass = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const textOf = (message: ModelMessage | undefined): string =>
  (message?.content ?? []).flatMap((block) => (block.type === "text" ? [block.text] : [])).join("");

const about = { api: "scripted", provider: "scripted", model: "scripted" };
/** With this mutation every kill hits a command, so that its test does not depend on luck. */
const PAUSE = mutation === "exec-again" ? 2 : 0.05;
/** The request of a message: its kind and its token. */
const COMMANDS: Readonly<Record<string, (token: string) => object>> = {
  wait: (token) => ({ command: `echo ${token} >> done.txt; sleep ${PAUSE}` }),
  back: (token) => ({ command: `echo ${token} >> done.txt; sleep 0.2; echo ${token} >> ended.txt`, background: true }),
  asks: (token) => ({ command: `touch asked-${token}; echo ${token} >> done.txt` }),
};
const model: Model = {
  async call({ messages }) {
    await pass(10);
    const last = messages.at(-1);
    const asked = messages.findLast((message) => message.role === "user");
    const [, kind = "", token = ""] = /(wait|back|asks) (t\d+)/.exec(textOf(asked)) ?? [];
    if (last?.role === "user" && kind === "") {
      return { ...about, content: [{ type: "text", text: "noted" }], stopReason: "stop" };
    }
    if (last?.role === "user") {
      const given = (COMMANDS[kind]?.(token) ?? {}) as Record<string, unknown>;
      return {
        ...about,
        content: [{ type: "toolCall", id: `call-${token}`, name: "exec", arguments: given }],
        stopReason: "tool_calls",
      };
    }
    return { ...about, content: [{ type: "text", text: `${token}: ${textOf(last)}` }], stopReason: "stop" };
  },
};

let host: ConnectorHost | undefined;
const connector: Connector = {
  name: "knowing",
  capabilities: { sendText: true },
  sendingClass: "idempotent",
  async start(given) {
    host = given;
  },
  async stop() {},
  health: () => ({ ok: true, detail: "" }),
  async send({ id, payload }) {
    tell({ say: "show", id, text: payload.text ?? "" });
    return { status: "sent" };
  },
};

const { config } = parseConfig({
  text: `{ owner: { accounts: ["knowing:p0", "knowing:p1", "knowing:p2", "knowing:p3", "knowing:p4", "knowing:p5"] }, session: { dmScope: "per-peer" }, queue: { mode: "queue", cap: 10000 }, log: { level: "error" }, sandbox: { kind: "bwrap" },
    permissions: { ask: ["exec(touch *)"] }, profiles: { main: { exec: { security: "full" } } } }`,
  file: "rookery.json5",
  env: {},
});
const node = await openNode({
  paths: homePaths(home),
  config,
  connectors: [connector],
  model,
  onFatal(error) {
    throw error;
  },
});
if (mutation === "exec-again") {
  // Repeats a tool call on purpose (L4): the audit must find it. The tools are loaded later, so each one that is set is changed.
  const { tools } = node.ports;
  let real = tools.find;
  const again: typeof real = (agent, name) => {
    const tool = real(agent, name);
    if (!tool) return undefined;
    // A process is known by its call, and is not started twice for one: the mutation needs another call.
    const execute: typeof tool.execute = (input, context) =>
      tool.execute(input, { ...context, callId: `${context.callId}-${process.pid}` });
    return { ...tool, replay: "safe", execute };
  };
  Object.defineProperty(tools, "find", {
    get: () => again,
    set: (given: typeof real) => {
      real = given;
    },
  });
}
if (mutation === "unrecorded") {
  // Leaves no row in the audit log, on purpose (L13).
  const { store } = node.ports;
  const commit = store.commit.bind(store);
  const isRow = ({ op }: { readonly op: string }): boolean => op === "audit.add";
  Object.assign(store, {
    commit: (change: Parameters<typeof commit>[0]) => commit({ ...change, ops: change.ops.filter((op) => !isRow(op)) }),
  });
}
node.agents.events.listen(({ type }) => {
  if (type === "tool_start") tell({ say: "running" });
});
tell({ say: "up" });

/** The tokens whose commands have a row in the audit log. */
async function recorded(): Promise<readonly string[]> {
  const tokens: string[] = [];
  // A call that a late yes makes has an id of its own.
  const used = await node.ports.store.approvals({ limit: 500, states: ["used"] });
  const late = new Map(used.map(({ callId, used: by }) => [by?.callId, callId]));
  for (let beforeN: number | undefined; ; ) {
    const page = await node.ports.store.audit({ limit: 500, action: "exec", decision: "allow", beforeN });
    for (const { callId = "" } of page) tokens.push(/^call-(t\d+)/.exec(late.get(callId) ?? callId)?.[1] ?? "");
    beforeN = page.at(-1)?.n;
    if (page.length < 500) return tokens;
  }
}

/** Says yes to every question. */
async function approve(): Promise<void> {
  for (;;) {
    const open = await node.ports.store.approvals({ limit: 20, states: ["pending"] });
    for (const { id } of open) {
      await node.agents.approvals.decide(id, { approve: true }, { person: OWNER, surface: "test" }).catch(() => {});
    }
    await pass(20);
  }
}
void approve();

for await (const line of createInterface({ input: process.stdin })) {
  const heard = JSON.parse(line) as {
    readonly say: string;
    readonly id: string;
    readonly text: string;
    readonly person: string;
  };
  if (heard.say === "in") {
    const { id, text, person } = heard;
    const incoming = { connector: "knowing", userId: person, channelId: person, messageId: id, text };
    host?.accept({ ...incoming, delivery: { channel: "knowing", to: person } }).then(
      () => tell({ say: "ack", id }),
      () => {},
    );
    continue;
  }
  const { store } = node.ports;
  let rests = false;
  do {
    await node.agents.settled();
    await pass(50);
    const waiting = await store.approvals({ limit: 1, states: ["pending"] });
    rests =
      (await store.deliveries({ limit: 1 })).length === 0 &&
      (await store.busyAgents({ limit: 1 })).length === 0 &&
      waiting.length === 0;
  } while (!rests);
  const used = (await store.approvals({ limit: 10_000, states: ["used"] })).length;
  tell({ say: "quiet", used, recorded: await recorded() });
  await node.close();
  process.exit(0);
}
