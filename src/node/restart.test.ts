/** A home that is closed and opened by another process: everybody is there as they were, byte for byte. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { configSchema } from "../config/config-schema.ts";
import { type HomePaths, homePaths } from "../config/paths.ts";
import { AGENT_KINDS, type AgentDescriptor } from "../core/descriptor.ts";
import type { ModelRequest } from "../core/model.ts";
import { buildHistoryContext } from "../history/context.ts";
import { openNode, type RookeryNode } from "./open-node.ts";

const ALL: readonly AgentDescriptor[] = [
  { type: "user", connector: "test", userId: "ann", channelId: "ann" },
  { type: "cron", id: "job-1", name: "report" },
  { type: "heartbeat" },
  { type: "system", tag: "architect" },
  { type: "subagent", id: "0198", parentAgentId: "p", name: "dig" },
  { type: "swarm", id: "s1", contact: "c1" },
  { type: "permanent", id: "x", name: "Librarian", description: "d", systemPrompt: "p" },
];

async function withNode<T>(
  paths: HomePaths,
  work: (node: RookeryNode, asked: ModelRequest[]) => Promise<T>,
): Promise<T> {
  const asked: ModelRequest[] = [];
  const node = await openNode({
    paths,
    config: configSchema.parse({ systemAgents: { architect: { prompt: "You plan." } } }),
    connectors: [],
    model: {
      async call(request) {
        asked.push(request);
        const content = [{ type: "text" as const, text: `answer ${request.messages.length}` }];
        return { content, stopReason: "stop", api: "a", provider: "p", model: "m" };
      },
    },
    onFatal(error) {
      throw error;
    },
  });
  try {
    return await work(node, asked);
  } finally {
    await node.close();
  }
}

const look = async ({ ports: { store } }: RookeryNode) =>
  Promise.all(
    (await store.agents({ limit: 99 })).map(async ({ id, descriptor, sessionKey, profile, state, sessionId, leaf }) => {
      const { messages } = await buildHistoryContext(store, id, leaf);
      return { id, descriptor, sessionKey, profile, state, sessionId, context: JSON.stringify(messages) };
    }),
  );

it("all seven kinds come back from the file: descriptor, key, state, session, prompt and context", async () => {
  const paths = homePaths(mkdtempSync(join(tmpdir(), "rookery-restart-")));
  try {
    const tell = async ({ agents }: RookeryNode, descriptor: AgentDescriptor, text: string) => {
      const { result } = await agents.postAndAwait({ to: { descriptor }, body: { kind: "user", text } });
      expect(result?.outcome).toBe("ok");
    };
    const [before, firstPrompts] = await withNode(paths, async (node, asked) => {
      for (const descriptor of ALL) await tell(node, descriptor, `to ${descriptor.type}`);
      const prompts = asked.map(({ system }) => system);
      for (const descriptor of ALL)
        await node.agents.post({ to: { descriptor }, body: { kind: "reset", by: "person" } });
      for (const descriptor of ALL) await tell(node, descriptor, "again");
      await node.agents.settled();
      return [await look(node), prompts] as const;
    });
    expect(before.map(({ descriptor }) => descriptor.type)).toEqual([...AGENT_KINDS]);
    expect(before.map(({ state }) => state.systemPromptReport?.chars)).toEqual(
      // The one permanent agent is listed to all who came after it.
      before.map(({ state }) => state.systemPromptReport?.parts.reduce((sum, { chars }) => sum + chars + 2, -2)),
    );
    await withNode(paths, async (node, asked) => {
      expect(await look(node)).toEqual(before);
      expect(node.agents.loaded).toBe(0);
      expect(await node.agents.agentFor("most-recent-foreground")).toBe(before[0]?.id);
      for (const [index, descriptor] of ALL.entries()) {
        await tell(node, descriptor, "and now");
        const request = asked.at(-1) as ModelRequest;
        expect(JSON.stringify(request.messages.slice(0, -1))).toBe(before[index]?.context);
        expect(request.system.startsWith(firstPrompts[index]?.split("<permanent_agents>")[0] ?? "-")).toBe(true);
        expect(request.sessionId).toBe(before[index]?.sessionId);
      }
      expect(await node.ports.store.agents({ limit: 99 })).toHaveLength(ALL.length);
    });
  } finally {
    rmSync(paths.home, { recursive: true, force: true });
  }
});
