/** Applications hear their agents speak first: a real server that is killed, and readers that come back (M26, M27). */
import { createHmac } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
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

it("the owner's script gets an alert of the heartbeat exactly once, through two kills", async () => {
  const asked = Promise.withResolvers<ModelCall>();
  model.script = (call) => asked.resolve(call);
  let server = await start();
  expect((await read("/api/deliveries")).items).toEqual([]);
  await api(server, "/api/heartbeat/run", { method: "POST", body: {} });
  await asked.promise;
  model.script = (call) => {
    call.say("The disk is full.");
    call.end();
  };
  // Killed while the model works, and again when the alert waits.
  server = served = await server.crash();
  const [alert, ...others] = await arrived();
  expect([alert?.text, others]).toEqual(["The disk is full.", []]);
  server = served = await server.crash();
  expect((await arrived()).map(({ id }) => id)).toEqual([alert?.id]);
  expect(await read("/api/deliveries/ack", { ids: [alert?.id] })).toEqual({ acknowledged: [alert?.id] });
  served = await server.crash();
  expect((await read("/api/deliveries")).items).toEqual([]);
  expect(await read("/api/deliveries/ack", { ids: [alert?.id] })).toEqual({ acknowledged: [alert?.id] });
});

it("an application gets the report of a child that its user started, with a kill in between", async () => {
  const child = Promise.withResolvers<ModelCall>();
  model.script = (call) => {
    const said = JSON.stringify(call.body.messages);
    if (call.prompt.includes("look it up") && !said.includes('"role":"tool"')) {
      spawnChild(call);
    } else if (call.prompt.includes("find the answer")) child.resolve(call);
    else echo(call);
  };
  let server = await start();
  await openaiClient(server.port).chat.completions.create({
    model: "main",
    user: "ann",
    messages: userMessage("look it up"),
  });
  await child.promise;
  model.script = (call) => {
    call.say(call.prompt.includes("It is 42.") ? "Your child found: 42." : "It is 42.");
    call.end();
  };
  server = served = await server.crash();
  const items = await arrived("&user=ann");
  expect(items.map(({ text }) => text)).toEqual(["Your child found: 42."]);
  await read("/api/deliveries/ack", { ids: items.map(({ id }) => id), user: "ann" });
  served = await server.crash();
  expect((await read("/api/deliveries?user=ann")).items).toEqual([]);
});

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

it("what is said to the terminal while nobody is there is printed by the next terminal, once", async () => {
  model.script = echo;
  const server = await start({ cron: {} });
  const rookery = (input: string) => runCommand(["run", "--home", server.home], { env: { K: "k" }, input });
  expect((await rookery("hello")).out).toBe("echo: hello\n");
  const at = { kind: "at", atMs: Date.now() + 200 };
  const payload = { kind: "agentTurn", message: "tea is ready", deliver: true };
  await api(server, "/api/cron", {
    method: "POST",
    body: { name: "tea", schedule: at, sessionTarget: "isolated", payload },
  });
  const waiting = async () => ((await read("/api/deliveries?terminal=owner")).items as Item[]).length;
  await expect.poll(waiting).toBe(1);
  served = await server.crash();
  const next = await rookery("what is new?");
  expect(next.out).toMatch(/^echo: .*tea is ready[\s\S]*echo: what is new\?/);
  expect((await rookery("and now?")).out).not.toContain("tea is ready");
});

it("a webhook gets each delivery once, signed, although its receiver fails and the server is killed", async () => {
  const got: { id: string; valid: boolean }[] = [];
  let failing = 2;
  const receiver: Server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    const stamp = String(request.headers["x-rookery-timestamp"]);
    const wanted = `v1=${createHmac("sha256", "k").update(`${stamp}.${body}`).digest("hex")}`;
    const valid =
      request.headers["x-rookery-signature"] === wanted && Math.abs(Date.now() / 1_000 - Number(stamp)) < 300;
    got.push({ id: String(request.headers["idempotency-key"]), valid });
    response.writeHead(failing-- > 0 ? 503 : 204).end();
  });
  await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
  try {
    model.script = echo;
    const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/agents`;
    const shop = { url, secret: { env: "K" }, users: ["ann"] };
    const outbox = { retryMinMs: 50, retryMaxMs: 100 };
    const server = await start({ mailbox: { webhooks: { shop } }, outbox });
    const client = openaiClient(server.port);
    await client.chat.completions.create({ model: "main", user: "ann", messages: userMessage("hello") });
    const agent = encodeURIComponent("agent:main:api:dm:ann");
    await api(server, `/api/agents/${agent}/messages`, { method: "POST", body: { text: "and later?" } });
    await until(() => got.length > 0);
    served = await server.crash();
    await until(() => failing < 0);
    const { items: deliveries } = (await read("/api/outbox?state=sent")) as { items: readonly { id: string }[] };
    expect(new Set(got.map(({ id }) => id))).toEqual(new Set(deliveries.map(({ id }) => id)));
    expect(got.every(({ valid }) => valid)).toBe(true);
    expect(deliveries).toHaveLength(1);
  } finally {
    receiver.close();
  }
});
