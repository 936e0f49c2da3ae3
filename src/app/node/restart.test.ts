/** A home that is closed and opened again: every agent is unchanged, byte for byte. */
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { z } from "zod";
import { configSchema } from "../../config/config-schema.ts";
import { type HomePaths, homePaths } from "../../config/paths.ts";
import { AGENT_KINDS, type AgentDescriptor } from "../../core/agent/descriptor.ts";
import type { AgentId } from "../../core/ids.ts";
import type { ModelRequest } from "../../core/ports/model.ts";
import type { Tool } from "../../core/ports/tool.ts";
import { buildHistoryContext } from "../../engine/context/context.ts";
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
    config: configSchema.parse({
      systemAgents: { architect: { prompt: "You plan." } },
      owner: { accounts: ["test:ann"] },
    }),
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

it("restores agents of all seven kinds: descriptor, key, state, session, prompt and context", async () => {
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
      // Every agent created later has the permanent agent in its prompt.
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

it("resumes a run that crashed during a tool call, with its tools loaded", async () => {
  const root = mkdtempSync(join(tmpdir(), "rookery-restart-"));
  const descriptor = ALL[0] as AgentDescriptor;
  const begun = Promise.withResolvers<void>();
  const over = Promise.withResolvers<void>();
  const open = (name: string, hangs: boolean) => {
    const dig: Tool<unknown> = {
      ...{ name: "dig", description: "Digs.", input: z.object({}), rights: [], replay: "safe", parallel: false },
      maxOutput: 100,
      async execute() {
        begun.resolve();
        if (hangs) await over.promise;
        return { content: [{ type: "text", text: "gold" }] };
      },
    };
    return openNode({
      paths: homePaths(join(root, name)),
      config: configSchema.parse({ owner: { accounts: ["test:ann"] } }),
      connectors: [],
      tools: { list: () => [dig], find: () => dig },
      model: {
        async call({ messages }) {
          const last = messages.at(-1);
          const about = { api: "a", provider: "p", model: "m" } as const;
          if (last?.role === "user")
            return {
              ...about,
              content: [{ type: "toolCall", id: "c1", name: "dig", arguments: {} }],
              stopReason: "tool_calls",
            };
          return { ...about, content: [{ type: "text", text: JSON.stringify(last?.content) }], stopReason: "stop" };
        },
      },
      onFatal(error) {
        throw error;
      },
    });
  };
  try {
    const first = await open("before", true);
    await first.agents.post({ to: { descriptor }, body: { kind: "user", text: "dig" } });
    await begun.promise;
    // The state after a crash: a copy of the disk at this moment.
    cpSync(join(root, "before"), join(root, "after"), { recursive: true });
    over.resolve();
    await first.close();
    const second = await open("after", false);
    await second.agents.settled();
    const agentId = (await second.ports.store.agents({ limit: 1 }))[0]?.id as AgentId;
    const [run] = await second.ports.store.runs(agentId, { limit: 1 });
    expect(run?.body.error).toBeUndefined();
    const [line] = await second.ports.store.linesBack(agentId, { limit: 1 });
    expect(JSON.stringify(line)).toContain("gold");
    await second.close();
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
});
