/** Two databases, each with a node: an agent of one sends a message to an agent of the other, through its outbox (M25). */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openNode, type RookeryNode } from "../../src/app/node/open-node.ts";
import { parseConfig } from "../../src/config/parse-config.ts";
import { homePaths } from "../../src/config/paths.ts";
import type { Model } from "../../src/core/ports/model.ts";
import { startProxy } from "./proxy.ts";
import { freshDatabase } from "./shared.ts";

const usage = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2 };
const about = { api: "scripted", provider: "scripted", model: "scripted", usage };

/** Sends the given message once, and then only answers. */
function modelThat(calls: { tell?: { agentId: string; text: string } }, heard: string[]): Model {
  return {
    async call({ messages }) {
      heard.push(JSON.stringify(messages.at(-1)?.content));
      const { tell } = calls;
      calls.tell = undefined;
      if (!tell) return { ...about, content: [{ type: "text", text: "ok" }], stopReason: "stop" };
      const call = { type: "toolCall", id: "c1", name: "send_agent_message", arguments: tell } as const;
      return { ...about, content: [call], stopReason: "toolUse" };
    },
  } as Model;
}

const descriptor = (user: string) => ({ type: "user", connector: "test", userId: user, channelId: user }) as const;

test("a message reaches the other shard once, even if that database was down when it was sent", async () => {
  const [urlA, urlB] = [await freshDatabase(), await freshDatabase()];
  const { hostname, port } = new URL(urlB);
  const proxy = await startProxy({ host: hostname, port: Number(port) });
  const homes: string[] = [];
  const nodes: RookeryNode[] = [];
  const node = async (sharedStore: string, store: object, model: Model): Promise<RookeryNode> => {
    const home = mkdtempSync(join(tmpdir(), "rookery-shard-"));
    homes.push(home);
    const text = JSON.stringify({ store, log: { level: "error" }, owner: { accounts: ["test:ann", "test:bob"] } });
    const { config } = parseConfig({ text, file: "rookery.json5", env: {} });
    const paths = { ...homePaths(home), sharedStore };
    const onFatal = (error: unknown): never => {
      throw error;
    };
    const opened = await openNode({ paths, config, connectors: [], model, env: {}, onFatal });
    nodes.push(opened);
    return opened;
  };
  try {
    const [sentByA, heardA, heardB] = [
      {} as { tell?: { agentId: string; text: string } },
      [] as string[],
      [] as string[],
    ];
    const a = await node(urlA, { shard: "a", shards: { b: proxy.through(urlB) } }, modelThat(sentByA, heardA));
    const b = await node(urlB, { shard: "b", shards: { a: urlA } }, modelThat({}, heardB));
    const bob = await b.agents.post({ to: { descriptor: descriptor("bob") }, body: { kind: "user", text: "hi" } });
    if (bob.status === "stale") throw new Error("Not accepted.");
    await expect.poll(() => heardB.length, { interval: 10 }).toBe(1);
    proxy.refusing = true;
    proxy.cut();
    sentByA.tell = { agentId: `b/${bob.agentId}`, text: "news from the other side" };
    const asked = await a.agents.postAndAwait(
      { to: { descriptor: descriptor("ann") }, body: { kind: "user", text: "tell bob" } },
      { timeoutMs: 60_000 },
    );
    expect(asked.result?.outcome).toBe("ok");
    const owed = async () => (await a.ports.store.deliveries({ limit: 9 })).map(({ id, state }) => [id, state]);
    expect(await owed()).toEqual([[`${asked.result?.runId}.0`, expect.stringMatching(/pending|sending/)]]);
    proxy.refusing = false;
    await expect.poll(() => heardB.length, { interval: 20 }).toBe(2);
    expect(heardB[1]).toContain("news from the other side");
    expect(heardB[1]).toMatch(/a\/[a-z0-9]{24}/);
    await expect.poll(owed, { interval: 20 }).toEqual([]);
    const messages = await b.ports.store.messages(bob.agentId, { limit: 9 });
    expect(messages.filter(({ body }) => body.kind === "system")).toHaveLength(1);
    // An agent that does not work for the owner reaches no other shard.
    sentByA.tell = { agentId: `b/${bob.agentId}`, text: "let me in" };
    const eve = { to: { descriptor: descriptor("eve") }, body: { kind: "user", text: "tell bob" } } as const;
    await a.agents.postAndAwait(eve, { timeoutMs: 60_000 });
    expect(heardA.at(-1)).toContain("Denied");
    expect(await owed()).toEqual([]);
  } finally {
    proxy.refusing = false;
    await Promise.all(nodes.map((one) => one.close()));
    await proxy.close();
    for (const home of homes) rmSync(home, { recursive: true, force: true });
  }
});
