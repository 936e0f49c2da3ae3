/** Applications receive what their agents say unasked: a real server that is killed, and readers that come back (M26, M27). */
import { createHmac } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "vitest";
import { runCommand } from "../../src/app/cli/cli.test-kit.ts";
import {
  api,
  echo,
  type FakeModel,
  fakeModel,
  type ModelCall,
  openaiClient,
  type Served,
  serve,
  TOKEN,
  userMessage,
  writeServedConfig,
} from "./serving.ts";

interface Item {
  readonly id: string;
  readonly text: string;
}

let model: FakeModel;
let root: string;
let served: Served | undefined;
beforeAll(async () => {
  model = await fakeModel();
});
afterAll(() => model.close());
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "rookery-mailbox-"));
});
afterEach(async () => {
  await served?.stop();
  served = undefined;
  rmSync(root, { recursive: true, force: true });
});

const start = async (more: object = {}): Promise<Served> => {
  const home = join(root, "home");
  writeServedConfig(home, model, { more: { gateway: {}, ...more } });
  mkdirSync(join(home, "workspace"), { recursive: true });
  writeFileSync(join(home, "workspace", "HEARTBEAT.md"), "# Heartbeat\n\n- [ ] look at the disk\n");
  served = await serve(model, { home });
  return served;
};

/** A reader that asks until somebody answers, as an application does. */
async function read(path: string, body?: object): Promise<Record<string, unknown>> {
  for (;;) {
    try {
      const init = body ? { method: "POST", body: JSON.stringify(body) } : {};
      const headers = { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" };
      const response = await fetch(`${served?.url}${path}`, { ...init, headers });
      if (response.status === 200) return (await response.json()) as Record<string, unknown>;
    } catch {
      // The server is down.
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Reads a mailbox until it holds something, and returns all of it. */
async function arrived(query = ""): Promise<readonly Item[]> {
  for (;;) {
    const { items } = await read(`/api/deliveries?wait=5${query}`);
    if ((items as Item[]).length > 0) return items as Item[];
  }
}

const until = async (isTrue: () => boolean): Promise<void> => {
  while (!isTrue()) await new Promise((resolve) => setTimeout(resolve, 10));
};

interface Webhook {
  readonly url: string;
  /** Each request that came, and whether its signature is right. */
  readonly got: readonly { readonly id: string; readonly valid: boolean }[];
  /** While true, requests are answered with 503. */
  failing: boolean;
  close(): void;
}

async function webhook(): Promise<Webhook> {
  const got: { id: string; valid: boolean }[] = [];
  const server: Server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    const stamp = String(request.headers["x-rookery-timestamp"]);
    const wanted = `v1=${createHmac("sha256", "k").update(`${stamp}.${body}`).digest("hex")}`;
    const valid =
      request.headers["x-rookery-signature"] === wanted && Math.abs(Date.now() / 1_000 - Number(stamp)) < 300;
    got.push({ id: String(request.headers["idempotency-key"]), valid });
    response.writeHead(receiver.failing ? 503 : 204).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/agents`;
  const receiver: Webhook = { url, got, failing: true, close: () => void server.close() };
  return receiver;
}

function spawnChild(call: ModelCall): void {
  const input = JSON.stringify({ task: "find the answer" });
  const delta = {
    tool_calls: [{ index: 0, id: "c1", type: "function", function: { name: "sessions_spawn", arguments: input } }],
  };
  const chunk = (choice: object): void => {
    const choices = [{ index: 0, ...choice }];
    call.response.write(`data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", choices })}\n\n`);
  };
  chunk({ delta, finish_reason: null });
  chunk({ delta: {}, finish_reason: "tool_calls" });
  call.response.end("data: [DONE]\n\n");
}

it("each reader gets each delivery once, through three kills: a script, an application, the terminal and a webhook", async (context) => {
  const receiver = await webhook();
  context.onTestFinished(receiver.close);
  const heartbeat = Promise.withResolvers<ModelCall>();
  const child = Promise.withResolvers<ModelCall>();
  model.script = (call) => {
    const said = JSON.stringify(call.body.messages);
    if (call.prompt.includes("HEARTBEAT")) heartbeat.resolve(call);
    else if (call.prompt.includes("look it up") && !said.includes('"role":"tool"')) spawnChild(call);
    else if (call.prompt.includes("find the answer")) child.resolve(call);
    else echo(call);
  };
  const shop = { url: receiver.url, secret: { env: "K" }, users: ["bea"] };
  let server = await start({ mailbox: { webhooks: { shop } }, cron: {}, queue: { debounceMs: 0 } });
  const rookery = (input: string) => runCommand(["send", "--home", server.home], { env: { K: "k" }, input });
  const client = openaiClient(server.port);
  const ask = (user: string, text: string) =>
    client.chat.completions.create({ model: "main", user, messages: userMessage(text) });

  // Killed while the model works for the heartbeat and for a child, and while the webhook fails.
  expect((await read("/api/deliveries")).items).toEqual([]);
  await api(server, "/api/heartbeat/run", { method: "POST", body: {} });
  await ask("ann", "look it up");
  await ask("bea", "hello");
  const bea = encodeURIComponent("agent:main:api:dm:bea");
  await api(server, `/api/agents/${bea}/messages`, { method: "POST", body: { text: "and later?" } });
  expect((await rookery("hello")).out).toBe("echo: hello\n");
  await Promise.all([heartbeat.promise, child.promise, until(() => receiver.got.length > 0)]);
  model.script = (call) => {
    if (call.prompt.includes("HEARTBEAT")) call.say("The disk is full.");
    else if (call.prompt.includes("It is 42.")) call.say("Your child found: 42.");
    else if (call.prompt.includes("find the answer")) call.say("It is 42.");
    else return echo(call);
    call.end();
  };
  server = served = await server.crash();

  // Killed while deliveries wait for their readers.
  const [alert, ...others] = await arrived();
  expect([alert?.text, others]).toEqual(["The disk is full.", []]);
  const [report, ...more] = await arrived("&user=ann");
  expect([report?.text, more]).toEqual(["Your child found: 42.", []]);
  server = served = await server.crash();

  // Read and acknowledged, and killed again while something waits for the terminal.
  expect(await arrived()).toEqual([alert]);
  expect(await arrived("&user=ann")).toEqual([report]);
  expect(await read("/api/deliveries/ack", { ids: [alert?.id] })).toEqual({ acknowledged: [alert?.id] });
  await read("/api/deliveries/ack", { ids: [report?.id], user: "ann" });
  const payload = { kind: "agentTurn", message: "tea is ready", deliver: true };
  const tea = { name: "tea", schedule: { kind: "at", atMs: Date.now() + 200 }, sessionTarget: "isolated", payload };
  await api(server, "/api/cron", { method: "POST", body: tea });
  const waiting = async () => ((await read("/api/deliveries?terminal=owner")).items as Item[]).map(({ text }) => text);
  await expect.poll(waiting).toEqual([expect.stringContaining("tea is ready")]);
  receiver.failing = false;
  const sent = async () => ((await read("/api/outbox?state=sent")).items as Item[]).map(({ id }) => id);
  const posted = receiver.got[0]?.id;
  await expect.poll(sent).toContain(posted);
  server = served = await server.crash();

  expect((await read("/api/deliveries?user=ann")).items).toEqual([]);
  expect(await read("/api/deliveries/ack", { ids: [alert?.id] })).toEqual({ acknowledged: [alert?.id] });
  expect((await rookery("what is new?")).out).toMatch(/^echo: .*tea is ready[\s\S]*echo: what is new\?/);
  expect((await read("/api/deliveries")).items).toEqual([]);
  expect((await rookery("and now?")).out).not.toContain("tea is ready");
  expect(new Set(receiver.got.map(({ id }) => id))).toEqual(new Set([posted]));
  expect(receiver.got.every(({ valid }) => valid)).toBe(true);
});

it("delivers the reminder of the quickstart to an owner who has not written yet", async () => {
  const page = readFileSync(new URL("../../docs/quickstart.md", import.meta.url), "utf8");
  const [, message] = /^\$ rookery schedules add --name tea --cron "[^"]+" --message "([^"]+)"/mu.exec(page) ?? [];
  const { home } = await start({ heartbeat: { every: "0" } });
  model.script = echo;
  const argv = ["schedules", "add", "--name", "tea", "--at", "1s", "--message", message ?? ""];
  expect((await runCommand([...argv, "--home", home])).code).toBe(0);
  expect(await arrived()).toMatchObject([{ text: expect.stringContaining(message ?? "nothing") }]);
});
