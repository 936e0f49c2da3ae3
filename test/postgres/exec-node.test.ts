/**
 * `execNode` with two real nodes on one database: the agent's runs, and so its commands, are on the named node. If that node dies
 * in the middle of a command, the command is not repeated and its outcome is recorded as unknown (L4, M33).
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openNode, type RookeryNode } from "../../src/app/node/open-node.ts";
import { parseConfig } from "../../src/config/parse-config.ts";
import { type HomePaths, homePaths } from "../../src/config/paths.ts";
import type { AgentId } from "../../src/core/ids.ts";
import type { Model, ModelMessage } from "../../src/core/ports/model.ts";
import { startProxy, type WireProxy } from "./proxy.ts";
import { freshDatabase } from "./shared.ts";

const about = { api: "scripted", provider: "scripted", model: "scripted" };
const textOf = (message: ModelMessage | undefined): string =>
  (message?.content ?? []).flatMap((block) => (block.type === "text" ? [block.text] : [])).join("");

/** Runs the command that a message says, and answers with its result. */
const model: Model = {
  async call({ messages }) {
    const last = messages.at(-1);
    const command = /^run (.*)$/su.exec(textOf(last))?.[1];
    return command !== undefined && last?.role === "user"
      ? {
          ...about,
          content: [{ type: "toolCall", id: `call-${messages.length}`, name: "exec", arguments: { command } }],
          stopReason: "tool_calls",
        }
      : { ...about, content: [{ type: "text", text: textOf(last) }], stopReason: "stop" };
  },
};

interface Machine {
  readonly node: RookeryNode;
  readonly paths: HomePaths;
  readonly proxy: WireProxy;
}

const machines: Machine[] = [];
let a: Machine;
let b: Machine;

async function machine(url: string, name: string): Promise<Machine> {
  const { hostname, port } = new URL(url);
  const proxy = await startProxy({ host: hostname, port: Number(port) });
  const paths = { ...homePaths(mkdtempSync(join(tmpdir(), "rookery-exec-node-"))), sharedStore: proxy.through(url) };
  const { config } = parseConfig({
    text: `{ log: { level: "error" }, queue: { mode: "queue" }, store: { leaseSeconds: 3 },
      profiles: { main: { exec: { security: "full", ask: "off" }, permissions: { untrusted: "off" } } } }`,
    file: "rookery.json5",
    env: {},
  });
  const node = await openNode({
    ...{ paths, config, connectors: [], model, env: { ...process.env, ROOKERY_NODE: name } },
    onFatal() {},
  });
  const opened = { node, paths, proxy };
  machines.push(opened);
  return opened;
}

beforeAll(async () => {
  const url = await freshDatabase();
  a = await machine(url, "alpha");
  b = await machine(url, "beta");
});
afterAll(async () => {
  for (const { proxy } of machines) proxy.refusing = false;
  await Promise.all(machines.map(({ node }) => node.close().catch(() => undefined)));
  for (const { proxy, paths } of machines) {
    await proxy.close();
    rmSync(paths.home, { recursive: true, force: true });
  }
});

const written = ({ paths }: Machine, name: string): string | undefined => {
  const path = join(paths.workspace, name);
  return existsSync(path) ? readFileSync(path, "utf8") : undefined;
};

/** An agent of the owner whose commands run on a node of this name. */
async function agentOn(name: string, node: string): Promise<AgentId> {
  const posted = await a.node.agents.post({
    to: { descriptor: { type: "user", connector: "api", userId: name, channelId: name } },
    body: { kind: "system", text: "hello", silent: true },
    behalf: { person: "owner" as never },
  });
  if (posted.status === "stale") throw new Error("Not accepted.");
  const { agentId } = posted;
  await a.node.agents.sessions.patch(agentId, { execHost: "node", execNode: node });
  await expect.poll(async () => (await a.node.ports.store.agent(agentId))?.state.execNode, { interval: 20 }).toBe(node);
  return agentId;
}

const say = (agentId: AgentId, text: string) =>
  a.node.agents.post({ to: { agentId }, body: { kind: "user", text }, behalf: { person: "owner" as never } });
/** What the agent has said last. */
async function answer(agentId: AgentId): Promise<string> {
  const lines = await a.node.ports.store.linesBack(agentId, { limit: 1 });
  const entry = JSON.parse(lines[0]?.line ?? "{}") as { role?: string; content?: { text?: string }[] };
  return entry.role === "assistant" ? (entry.content ?? []).map(({ text = "" }) => text).join("") : "";
}
const answered = (agentId: AgentId, with_: RegExp) =>
  expect.poll(() => answer(agentId), { interval: 20, timeout: 60_000 }).toMatch(with_);

test("a command runs on the node that execNode names, whichever node got the message", async () => {
  const agentId = await agentOn("mover", "beta");
  await say(agentId, "run echo one >> here.txt");
  await answered(agentId, /exit code 0|Exit code: 0|0/iu);
  expect(written(b, "here.txt")).toBe("one\n");
  expect(written(a, "here.txt")).toBeUndefined();
  await say(agentId, "run echo two >> here.txt");
  await expect.poll(() => written(b, "here.txt"), { interval: 20 }).toBe("one\ntwo\n");
  expect(written(a, "here.txt")).toBeUndefined();
});

test("a node that the cluster does not have is refused with a sentence, and nothing runs", async () => {
  const agentId = await agentOn("lost", "gamma");
  await say(agentId, "run echo never >> nowhere.txt");
  await answered(agentId, /there is no node gamma in this cluster/u);
  expect([written(a, "nowhere.txt"), written(b, "nowhere.txt")]).toEqual([undefined, undefined]);
});

test("if that node dies in a command, it is not repeated, and the next one is refused while the node is away", async () => {
  const agentId = await agentOn("victim", "beta");
  await say(agentId, "run echo once >> cut.txt; sleep 5");
  await expect.poll(() => written(b, "cut.txt"), { interval: 20 }).toBe("once\n");
  b.proxy.refusing = true;
  b.proxy.cut();
  await answered(agentId, /outcome.*unknown|unknown.*outcome/iu);
  await say(agentId, "run echo again >> cut.txt");
  await answered(agentId, /The node beta does not answer/u);
  expect(written(b, "cut.txt")).toBe("once\n");
  expect(written(a, "cut.txt")).toBeUndefined();
});
