/** Rookery as an MCP server, used with the client of the protocol's authors: over HTTP with tokens, and over standard input and output. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openTestGateway, ROOT_TOKEN, type TestGateway } from "../../src/app/gateway/gateway.test-kit.ts";
import { createRookery } from "../../src/app/library/create-rookery.ts";

let kit: TestGateway;
const clients: Client[] = [];
const PATIENT = { timeout: 60_000 };
beforeAll(async () => {
  kit = await openTestGateway({ config: { people: { records: { ann: {} } } } });
});
afterAll(async () => {
  await Promise.all(clients.map((client) => client.close().catch(() => undefined)));
  await kit.close();
});

async function connected(token: string, mode: "auto" | "legacy" = "auto"): Promise<Client> {
  const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode } });
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${kit.gateway.port}/mcp`), { requestInit }),
  );
  clients.push(client);
  return client;
}
const call = async (client: Client, name: string, args: Record<string, unknown> = {}) => {
  const { content, isError } = await client.callTool({ name, arguments: args });
  return { isError, text: content.map((block) => (block.type === "text" ? block.text : "")).join("") };
};
const mint = async (more: object): Promise<string> => {
  const body = { name: "t", scopes: ["chat", "read"], ...more };
  return String((await kit.ask({ method: "POST", path: "/api/tokens", body })).json.token);
};

/** Each tool that the server lists, and a conversation as a resource. */
async function usesEverything(client: Client, mode: string): Promise<void> {
  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name).sort()).toEqual([
    ...["ask", "list_agents", "read_history", "read_inbox", "read_outbox", "schedule", "search_memory", "send_message"],
  ]);
  const user = `pat-${mode}`;
  expect((await call(client, "ask", { agent: user, text: "hello there" })).text).not.toBe("");
  const sent = JSON.parse(
    (await call(client, "send_message", { agent: user, text: "a pelican", id: `once-${mode}` })).text,
  );
  const again = JSON.parse(
    (await call(client, "send_message", { agent: user, text: "a pelican", id: `once-${mode}` })).text,
  );
  expect([sent.accepted, again.seq]).toEqual([true, sent.seq]);
  await expect
    .poll(async () => (await call(client, "read_history", { agent: user })).text, PATIENT)
    .toContain("user: a pelican");
  await expect
    .poll(async () => (await call(client, "search_memory", { query: "pelican" })).text, PATIENT)
    .toContain("a pelican");
  expect((await call(client, "list_agents")).text).toContain(`agent:main:api:dm:${user}`);
  expect((await call(client, "read_inbox", { agent: user })).text).toContain("waiting");
  expect(JSON.parse((await call(client, "read_outbox")).text)).toHaveProperty("items");
  const made = await call(client, "schedule", { name: `tea-${mode}`, message: "tea", cron: "0 4 * * *" });
  expect(JSON.parse(made.text).when).toBeTruthy();
  expect((await call(client, "schedule", { name: "tea", message: "tea" })).isError).toBe(true);
  const { resources } = await client.listResources();
  const own = resources.find(({ uri }) => uri.endsWith(sent.agentId));
  const { contents } = await client.readResource({ uri: own?.uri ?? "" });
  expect(JSON.stringify(contents)).toContain("a pelican");
}

describe.each([
  ["auto", "2026-07-28"],
  ["legacy", "2025-11-25"],
] as const)("over HTTP, negotiating %s", (mode, version) => {
  it("sends, asks, lists, reads, schedules and searches", async () => {
    const client = await connected(ROOT_TOKEN, mode);
    expect(client.getNegotiatedProtocolVersion()).toBe(version);
    await usesEverything(client, mode);
  });

  it("can do what the token can do, and no more", async () => {
    const root = await connected(ROOT_TOKEN, mode);
    await call(root, "ask", { agent: `secret-${mode}`, text: "the owner's flamingo" });
    const ann = await connected(await mint({ person: "ann" }), mode);
    expect(JSON.parse((await call(ann, "search_memory", { query: "flamingo" })).text)).toEqual([]);
    const denied = await call(ann, "read_history", { agent: `agent:main:api:dm:secret-${mode}` });
    expect([denied.isError, denied.text]).toEqual([true, expect.stringContaining("no agent")]);
    expect((await call(ann, "list_agents")).text).not.toContain("secret");
    const { resources } = await ann.listResources();
    expect(JSON.stringify(resources)).not.toContain("secret");
    const reader = await connected((await kit.mint("read")).token, mode);
    expect((await call(reader, "send_message", { text: "hi" })).isError).toBe(true);
    await expect(connected("wrong", mode)).rejects.toThrow();
  });
});

it("tells the progress of an answer, and of nothing that was not asked for", async () => {
  const client = await connected(ROOT_TOKEN);
  const told: string[] = [];
  const onprogress = ({ message = "" }): void => void told.push(message);
  const question = { name: "ask", arguments: { agent: "slow", text: "hello there" } };
  const { content } = await client.callTool(question, { onprogress });
  expect([content[0]?.type, told[0]]).toEqual(["text", "The agent works on it."]);
  const older = await connected(ROOT_TOKEN, "legacy");
  const before = told.length;
  await older.callTool(question, { onprogress });
  expect(told.length).toBeGreaterThan(before);
});

it("completes the names of conversations", async () => {
  const client = await connected(ROOT_TOKEN);
  await call(client, "ask", { agent: "heron", text: "hello" });
  const ref = { type: "ref/resource", uri: "rookery://conversations/{agent}" } as const;
  const completed = async (value: string) =>
    (await client.complete({ ref, argument: { name: "agent", value } })).completion.values;
  const [id = ""] = await completed("heron");
  const { contents } = await client.readResource({ uri: `rookery://conversations/${id}` });
  expect(JSON.stringify(contents)).toContain("hello");
  expect(await completed("no such thing")).toEqual([]);
});

it("tells who listens when a conversation goes on, and ends with the token", async () => {
  const root = await connected(ROOT_TOKEN);
  const sent = JSON.parse((await call(root, "send_message", { agent: "stork", text: "one" })).text);
  const uri = `rookery://conversations/${sent.agentId}`;
  const { token, id } = await kit.mint("read");
  const told = { root: 0, reader: 0, ann: 0 };
  const listening = async (who: keyof typeof told, client: Client) => {
    client.setNotificationHandler("notifications/resources/updated", () => void told[who]++);
    return client.listen({ resourceSubscriptions: [uri] });
  };
  const own = await listening("root", root);
  await listening("reader", await connected(token));
  // It is not Ann's conversation.
  await listening("ann", await connected(await mint({ person: "ann" })));
  await expect.poll(() => Math.min(told.root, told.reader), PATIENT).toBeGreaterThan(0);
  await kit.ask({ method: "DELETE", path: `/api/tokens/${id}` });
  await expect.poll(() => kit.gateway.context.streams.count, PATIENT).toBeLessThan(6);
  const before = told.root;
  await call(root, "ask", { agent: "stork", text: "two" });
  await expect.poll(() => told.root, PATIENT).toBeGreaterThan(before);
  expect(told.ann).toBe(0);
  await own.close();
});

it("refuses pages of other origins and hosts that are not this one", async () => {
  const body = { jsonrpc: "2.0", id: 1, method: "ping" };
  const post = (headers: Record<string, string>) => kit.ask({ method: "POST", path: "/mcp", body, headers });
  expect((await post({ host: "evil.example" })).status).toBe(421);
  expect((await post({ origin: "https://evil.example" })).status).toBe(403);
});

it("serves a running engine over standard input and output", async () => {
  const home = mkdtempSync(join(tmpdir(), "rookery-mcp-"));
  const engine = await createRookery({ home, model: "offline", env: {} });
  const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode: "auto" } });
  const main = join(import.meta.dirname, "..", "..", "src", "main.ts");
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [main, "mcp", "serve", "--home", home],
      stderr: "inherit",
    }),
  );
  expect((await call(client, "ask", { text: "hello" })).text).not.toBe("");
  expect((await call(client, "list_agents")).text).toContain("agent:main:api:dm:mcp");
  const [{ uri = "" } = {}] = (await client.listResources()).resources;
  const updated = Promise.withResolvers<void>();
  client.setNotificationHandler("notifications/resources/updated", () => updated.resolve());
  await client.listen({ resourceSubscriptions: [uri] });
  await call(client, "ask", { text: "again" });
  await updated.promise;
  await usesEverything(client, "stdio");
  await client.close();
  await engine.close();
  rmSync(home, { recursive: true, force: true });
});
