import { Client, InMemoryTransport } from "@modelcontextprotocol/client";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { RookeryClient } from "../../client/rookery-client.ts";
import { mcpServerOf } from "./mcp-server.ts";

const opened: Client[] = [];
afterEach(() => Promise.all(opened.splice(0).map((client) => client.close())));

/** A client that uses the server over a connection in memory. */
async function clientOf(rookery: object): Promise<Client> {
  const server = await mcpServerOf({ rookery: rookery as RookeryClient, version: "1", era: "legacy" });
  const [here, there] = InMemoryTransport.createLinkedPair();
  const client = new Client({ name: "test", version: "1" });
  await Promise.all([server.connect(there as never), client.connect(here)]);
  opened.push(client);
  return client;
}

async function use(rookery: object, name: string, args: object) {
  const client = await clientOf(rookery);
  const { content, isError } = await client.callTool({ name, arguments: { ...args } });
  return { isError, text: content.map((block) => (block.type === "text" ? block.text : "")).join("") };
}

const page = async () => ({ items: [], next: null });
/** Takes everything. */
const WILLING = {
  agent: () => ({
    send: async () => ({ agentId: "a", seq: 1 }),
    ask: async () => "answer",
    inbox: page,
    history: page,
  }),
  schedule: { add: async () => ({ id: "j", when: "soon", nextTimes: [] }) },
  agents: { list: page },
  outbox: { list: page },
  search: page,
};

describe("what the tools of the MCP server take", () => {
  const text = (length: number) => "x".repeat(length);
  it.each<[string, object, string, unknown, unknown]>([
    ["send_message", { text: "hi" }, "agent", text(512), text(513)],
    ["send_message", {}, "text", text(100_000), text(100_001)],
    ["send_message", { text: "hi" }, "id", text(200), text(201)],
    ["send_message", {}, "text", "x", ""],
    ["ask", {}, "text", text(100_000), text(100_001)],
    ["ask", { text: "hi" }, "id", text(200), text(201)],
    ["ask", { text: "hi" }, "timeoutSeconds", 600, 601],
    ["ask", { text: "hi" }, "timeoutSeconds", 1, 0],
    ["schedule", { message: "m", cron: "0 4 * * *" }, "name", text(200), text(201)],
    ["schedule", { name: "n", cron: "0 4 * * *" }, "message", text(10_000), text(10_001)],
    ["schedule", { name: "n", message: "m" }, "cron", text(200), text(201)],
    ["schedule", { name: "n", message: "m" }, "at", "2026-01-05T09:00:00+01:00", "2026-01-05T09:00:00"],
    ["schedule", { name: "n", message: "m" }, "cron", "0 4 * * *", undefined],
    ["schedule", { name: "n", message: "m", cron: "0 4 * * *" }, "at", undefined, "2026-01-05T09:00:00Z"],
    ["list_agents", {}, "after", text(64), text(65)],
    ["list_agents", {}, "limit", 100, 101],
    ["list_agents", {}, "limit", 1, 0],
    ["read_outbox", {}, "state", text(40), text(41)],
    ["read_history", { agent: "a" }, "before", 0, -1],
    ["search_memory", {}, "query", text(1_000), text(1_001)],
    ["search_memory", { query: "q" }, "limit", 50, 51],
  ])("%s %j with %s has limits", async (name, rest, field, good, bad) => {
    const takes = async (value: unknown) => !(await use(WILLING, name, { ...rest, [field]: value })).isError;
    expect([await takes(good), await takes(bad)]).toEqual([true, false]);
  });

  it("changes nothing with the tools that say so", async () => {
    const { tools } = await (await clientOf(WILLING)).listTools();
    const reading = tools.filter(({ annotations }) => annotations?.readOnlyHint);
    expect(reading.map(({ name }) => name).sort()).toEqual([
      ...["list_agents", "read_history", "read_inbox", "read_outbox", "search_memory"],
    ]);
  });
});

describe("the tool ask", () => {
  it.each([
    [undefined, 120_000],
    [7, 7_000],
  ])("with the time %s gives up after %i milliseconds, and says that the message is accepted", async (given, ms) => {
    const timeout = vi.spyOn(AbortSignal, "timeout").mockImplementation(() => AbortSignal.abort());
    try {
      const ask = () => Promise.reject(new TypeError("aborted"));
      const { text, isError } = await use({ agent: () => ({ ask }) }, "ask", { text: "hi", timeoutSeconds: given });
      expect(timeout.mock.calls).toEqual([[ms]]);
      expect([text, isError]).toEqual([expect.stringContaining("There is no answer yet."), undefined]);
    } finally {
      timeout.mockRestore();
    }
  });

  it("asks the conversation mcp if none is named, with an id of its own, and returns the answer", async () => {
    const asked: unknown[] = [];
    const agent = (name: string) => ({
      ask: async (text: string, { id }: { id: string }) => {
        asked.push([name, text, id.length > 0]);
        return `answer ${id === "once" ? id : ""}`;
      },
    });
    expect((await use({ agent }, "ask", { text: "hi" })).text).toBe("answer ");
    expect((await use({ agent }, "ask", { text: "hi", agent: "ann", id: "once" })).text).toBe("answer once");
    expect(asked).toEqual([
      ["mcp", "hi", true],
      ["ann", "hi", true],
    ]);
  });

  it("reports a failure as a result that the caller's model reads, and cuts a long answer", async () => {
    const ask = () => Promise.reject(new TypeError("no such agent"));
    const failed = await use({ agent: () => ({ ask }) }, "ask", { text: "hi" });
    expect(failed).toEqual({ isError: true, text: expect.stringContaining("no such agent") });
    const long = { agent: () => ({ ask: async () => "x".repeat(100_001) }) };
    expect((await use(long, "ask", { text: "hi" })).text).toHaveLength(100_000);
  });
});

describe("the other tools", () => {
  it("send with the id that was given, and schedule at a time or by an expression", async () => {
    const calls: unknown[] = [];
    const send = async (...args: unknown[]) => {
      calls.push(args);
      return { agentId: "a", seq: 3 };
    };
    const add = async (job: object) => {
      calls.push(job);
      return { id: "j", when: "soon", nextTimes: [{ text: "first" }, { text: "second" }] };
    };
    const rookery = { agent: () => ({ send }), schedule: { add } };
    const sent = await use(rookery, "send_message", { text: "hi", id: "k" });
    expect(JSON.parse(sent.text)).toEqual({ accepted: true, agentId: "a", seq: 3 });
    const at = await use(rookery, "schedule", { name: "n", message: "m", at: "1970-01-01T00:00:01Z" });
    expect(JSON.parse(at.text)).toEqual({ id: "j", when: "soon", next: "first" });
    await use(rookery, "schedule", { name: "n", message: "m", cron: "0 4 * * *" });
    const payload = { kind: "agentTurn", message: "m" };
    expect(calls).toEqual([
      ["hi", { id: "k" }],
      { name: "n", schedule: { kind: "at", atMs: 1_000 }, payload },
      { name: "n", schedule: { kind: "cron", expr: "0 4 * * *" }, payload },
    ]);
  });
});
