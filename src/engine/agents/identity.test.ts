import { describe, expect, it } from "vitest";
import { channel } from "../../../test/kit/channel.ts";
import { TestEngine } from "../../../test/kit/engine.ts";
import type { SettingsPart } from "../../../test/kit/settings.ts";
import { AGENT_KINDS, type AgentDescriptor } from "../../core/agent/descriptor.ts";
import { sessionKeyOf } from "../../core/agent/session-key.ts";
import type { AgentId } from "../../core/ids.ts";
import type { IncomingMessage } from "../../core/message/incoming-message.ts";
import { buildHistoryContext } from "../context/context.ts";

const ALL: readonly AgentDescriptor[] = [
  { type: "user", connector: "test", userId: "ann", channelId: "ann" },
  { type: "cron", id: "job-1", name: "report" },
  { type: "heartbeat" },
  { type: "system", tag: "architect" },
  { type: "subagent", id: "0198", parentAgentId: "p", name: "dig" },
  { type: "swarm", id: "s1", contact: "c1" },
  { type: "permanent", id: "x", name: "Librarian", description: "d", systemPrompt: "p" },
];

describe("a restart", () => {
  it("restores all seven kinds of agents: descriptor, key, state, session, and the context byte for byte", async () => {
    expect(ALL.map(({ type }) => type)).toEqual([...AGENT_KINDS]);
    const engine = await TestEngine.open({ settings: { systemAgents: { architect: { prompt: "You plan." } } } });
    for (const descriptor of ALL) {
      await engine.system.post({ to: { descriptor }, body: { kind: "user", text: `to ${descriptor.type}` } });
      await engine.settle();
      await engine.system.post({ to: { descriptor }, body: { kind: "reset", by: "person", text: "afresh" } });
      await engine.system.post({ to: { descriptor }, body: { kind: "user", text: "again" } });
      await engine.settle();
    }
    const look = async () => {
      const agents = await engine.store.agents({ limit: 99 });
      return Promise.all(
        agents.map(async ({ id, descriptor, sessionKey, profile, state, sessionId, leaf }) => {
          const { messages } = await buildHistoryContext(engine.store, id, leaf);
          return { id, descriptor, sessionKey, profile, state, sessionId, context: JSON.stringify(messages) };
        }),
      );
    };
    const before = await look();
    expect(before.map(({ descriptor }) => descriptor)).toEqual(ALL);
    expect(before.map(({ sessionKey }) => sessionKey)).toEqual(ALL.map((one) => sessionKeyOf(one, "main")));
    await engine.restart();
    expect(await look()).toEqual(before);
    for (const descriptor of ALL) {
      engine.sentBytes.length = 0;
      await engine.system.post({ to: { descriptor }, body: { kind: "user", text: "and now" } });
      await engine.settle();
      const sent = JSON.parse(engine.sentBytes[0] ?? "[]") as unknown[];
      const context = before.find(
        (one) => one.descriptor === descriptor || one.descriptor.type === descriptor.type,
      )?.context;
      expect(JSON.stringify(sent.slice(0, -1))).toBe(context);
    }
    expect(await engine.store.agents({ limit: 99 })).toHaveLength(ALL.length);
  });
});

describe("messages of connectors", () => {
  const settings: SettingsPart = {
    profiles: { work: {} },
    bindings: [{ profile: "work", match: { channel: "office", accountId: "*" } }],
    owner: { accounts: ["test:me"] },
    session: { identityLinks: { tyler: ["test:t1", "office:t2"] }, dmScope: "per-peer" },
  };
  const message = (n: number, about: Partial<IncomingMessage>): IncomingMessage => ({
    connector: "test",
    userId: "u",
    channelId: "c",
    messageId: `m${n}`,
    text: "hi",
    delivery: { channel: "test", to: "c" },
    ...about,
  });

  it("reach the agent of their address: profile, scope, owner and links", async () => {
    const channels = ["test", "office", "terminal"].map((name) => channel(name));
    const engine = await TestEngine.open({ channels, settings });
    const table: readonly [Partial<IncomingMessage>, string, string][] = [
      [{ userId: "me" }, "agent:main:main", "main"],
      [{ connector: "terminal", userId: "owner" }, "agent:main:main", "main"],
      [{ userId: "u1" }, "agent:main:dm:u1", "main"],
      [{ userId: "t1" }, "agent:main:dm:tyler", "main"],
      [{ connector: "office", userId: "t2" }, "agent:work:dm:tyler", "work"],
      [{ userId: "u1", peerKind: "group", channelId: "g", threadId: 4 }, "agent:main:test:group:g:thread:4", "main"],
    ];
    const reached: AgentId[] = [];
    for (const [n, [about, sessionKey, profile]] of table.entries()) {
      const accepted = await engine.hosts.get(about.connector ?? "test")?.accept(message(n, about));
      if (!accepted || !("agentId" in accepted)) throw new TypeError("not accepted");
      reached.push(accepted.agentId);
      expect(await engine.store.agent(accepted.agentId)).toMatchObject({ sessionKey, profile });
    }
    await engine.settle();
    expect(reached[0]).toBe(reached[1]);
    expect(new Set(reached).size).toBe(5);
  });

  it("keep their agent when the configuration changes: a key is computed once and stored", async () => {
    const engine = await TestEngine.open({ settings });
    const accepted = await engine.hosts.get("test")?.accept(message(1, { userId: "me" }));
    await engine.settle();
    await engine.restart({ settings: { owner: { accounts: [] } } });
    const [main] = await engine.store.agents({ limit: 9 });
    expect(main).toMatchObject({
      sessionKey: "agent:main:main",
      id: accepted?.status === "accepted" && accepted.agentId,
    });
  });

  it("with a blank user id are refused and not acknowledged", async () => {
    const engine = await TestEngine.open();
    const refused = engine.hosts.get("test")?.accept(message(1, { userId: " " }));
    await expect(refused).rejects.toMatchObject({ code: "invalid_input" });
    expect(await engine.store.agents({ limit: 9 })).toEqual([]);
  });
});
