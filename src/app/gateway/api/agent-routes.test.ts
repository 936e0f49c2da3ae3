import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Model, ModelMessage } from "../../../core/ports/model.ts";
import { openTestGateway, type TestGateway } from "../gateway.test-kit.ts";

const textOf = (message: ModelMessage | undefined): string =>
  (message?.content ?? []).map((block) => (block.type === "text" ? block.text : "")).join("");

/** "start" starts a child; a child answers when the gate opens; other messages are repeated. */
const gate = Promise.withResolvers<void>();
const model: Model = {
  async call({ messages }, signal) {
    const about = { api: "a", provider: "p", model: "m" } as const;
    const prompt = textOf(messages.at(-1));
    if (prompt === "start") {
      const call = {
        type: "toolCall",
        id: "c1",
        name: "start_background_agent",
        arguments: { prompt: "dig" },
      } as const;
      return { ...about, content: [call], stopReason: "tool_calls" };
    }
    if (textOf(messages[0]).includes("dig")) {
      const stopped = new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
      await Promise.race([gate.promise, stopped]);
    }
    return { ...about, content: [{ type: "text", text: `heard ${prompt}` }], stopReason: "stop" };
  },
};

let kit: TestGateway;
beforeAll(async () => {
  kit = await openTestGateway({ model });
});
afterAll(() => kit.close());

const send = (user: string, content: string) =>
  kit.ask({
    method: "POST",
    path: "/v1/chat/completions",
    body: { model: "main", user, messages: [{ role: "user", content }] },
  });

describe("a child agent over HTTP", () => {
  it("is inspected, messaged, waited for, stopped and released", async () => {
    await send("ann", "start");
    const { items: runs } = (await kit.ask({ path: "/api/subagents" })).json as { items: { runId: string }[] };
    expect(runs).toHaveLength(1);
    const path = `/api/subagents/${runs[0]?.runId}`;
    const shown = (await kit.ask({ path })).json;
    expect(shown).toMatchObject({ record: { task: "dig" }, child: { kind: "subagent" } });
    expect((await kit.ask({ path: `${path}/wait?timeoutMs=1` })).json).toEqual({ status: "timeout" });
    expect((await kit.ask({ method: "DELETE", path })).status).toBe(403);
    const message = {
      method: "POST",
      path: `${path}/messages`,
      body: { text: "deeper" },
      headers: { "idempotency-key": "t" },
    };
    const sent = await kit.ask(message);
    const again = await kit.ask(message);
    expect([sent.status, again.status, again.json]).toEqual([202, 202, sent.json]);
    const messages = await kit.ask({ path: `/api/agents/${String(sent.json.agentId)}/messages` });
    expect(JSON.stringify(messages.json)).toContain("deeper");
    expect((await kit.ask({ method: "POST", path: `${path}/stop` })).json).toEqual({ stopped: runs[0]?.runId });
    expect((await kit.ask({ path: `${path}/wait?timeoutMs=60000` })).json).toMatchObject({ status: "ended" });
    gate.resolve();
    await kit.node.agents.settled();
    expect((await kit.ask({ method: "DELETE", path })).json).toEqual({ released: runs[0]?.runId });
    expect((await kit.ask({ path })).status).toBe(404);
  });
});

describe("a conversation over HTTP", () => {
  it("branches at an entry", async () => {
    await send("bob", "one");
    const path = "/api/agents/agent:main:api:dm:bob";
    const before = (await kit.ask({ path })).json;
    await send("bob", "two");
    const branched = await kit.ask({ method: "POST", path: `${path}/branch`, body: { entryId: before.leaf } });
    expect([branched.status, branched.json.leaf]).toEqual([200, before.leaf]);
    expect((await kit.ask({ method: "POST", path: `${path}/branch`, body: { entryId: "unknown" } })).status).toBe(404);
  });

  it("is compacted by a message that waits its turn", async () => {
    const asked = await kit.ask({
      method: "POST",
      path: "/api/agents/agent:main:api:dm:bob/compact",
      body: { instructions: "keep names" },
    });
    expect(asked.status).toBe(202);
    await kit.node.agents.settled();
    const { agentId, seq } = asked.json as { agentId: string; seq: number };
    expect((await kit.ask({ path: `/api/agents/${agentId}/messages/${seq}` })).json).toMatchObject({
      message: { body: { kind: "compact", instructions: "keep names" }, state: "answered" },
      answer: { outcome: "ok", text: "" },
    });
  });

  it("is compacted while the caller waits, who gets the result, and the same result again with the same key", async () => {
    const request = {
      method: "POST",
      path: "/api/agents/agent:main:api:dm:bob/compact",
      body: { waitSeconds: 30 },
      headers: { "idempotency-key": "compact-once" },
    };
    const asked = await kit.ask(request);
    expect([asked.status, asked.json.compaction]).toEqual([
      200,
      { ok: true, compacted: false, reason: expect.any(String) },
    ]);
    expect((await kit.ask(request)).json).toEqual(asked.json);
  });
});
