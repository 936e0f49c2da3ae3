/** Reloads a running engine from one configuration to another that differs in every key of the schema. */

import { createHmac, randomUUID } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { ReloadReport } from "../../src/app/gateway/routing/gateway-context.ts";
import { type Serving, serve } from "../../src/app/library/serve.ts";
import { retentionLimits } from "../../src/app/node/engine-options.ts";
import { configSchema } from "../../src/config/config-schema.ts";
import { isLive, isUnder } from "../../src/config/live-keys.ts";
import { parseConfig } from "../../src/config/parse-config.ts";
import { homePaths } from "../../src/config/paths.ts";
import { keysOf, schemaTree } from "../../src/config/schema-tree.ts";
import type { Connector, ConnectorHost } from "../../src/core/ports/connector.ts";
import { recordReads } from "./record-reads.ts";
import { configAt, otherStore } from "./reload-keys.ts";
import { echo, type FakeModel, fakeModel, type ModelCall, TOKEN } from "./serving.ts";

const KEYS = keysOf(schemaTree(configSchema), true).map(({ path }) => path);
const NAMED = KEYS.filter((key) => key.includes("<name>"));

/** Whether a key of the schema is meant by a path of a configuration, such as `profiles.main.prompt` or `bindings`. */
function covers(path: string, key: string): boolean {
  if (isUnder(key, path)) return true;
  if (!NAMED.includes(key)) return false;
  const pattern = key
    .replace(/\[\].*$/, "")
    .replaceAll(/[.$]/g, String.raw`\$&`)
    .replaceAll("<name>", "(?:.+?)");
  return new RegExp(`^${pattern}$`).test(path);
}

const env = { ROOKERY_TOKEN: TOKEN, K0: "k0", K1: "k1", H0: "h0", H1: "h1" };
let home: string;
let model: FakeModel;
let serving: Serving;
let chat: ConnectorHost;
let quiet: ConnectorHost;
/** The paths that were read since this was last emptied. */
const read = new Set<string>();
let report: ReloadReport;
let again: ReloadReport;

const write = (value: unknown): void => writeFileSync(join(home, "rookery.json5"), JSON.stringify(value));

/** "call NAME JSON" makes the model call a tool. */
function script(call: ModelCall): void {
  const [, name, input] = /^call (\w+) (.*)$/s.exec(call.prompt.split("\n").at(-1) ?? "") ?? [];
  if (name === undefined || call.body.messages.at(-1)?.role !== "user") {
    echo(call);
    return;
  }
  const delta = { tool_calls: [{ index: 0, id: "c1", type: "function", function: { name, arguments: input } }] };
  const chunk = (choice: object): void => {
    const choices = [{ index: 0, ...choice }];
    call.response.write(`data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", choices })}\n\n`);
  };
  chunk({ delta, finish_reason: null });
  chunk({ delta: {}, finish_reason: "tool_calls" });
  call.response.end("data: [DONE]\n\n");
}

const connectorNamed = (name: string, started: (host: ConnectorHost) => void): Connector => ({
  name,
  sendingClass: "idempotent",
  capabilities: { sendText: true },
  start: async (host) => started(host),
  stop: async () => {},
  health: () => ({ ok: true, detail: "" }),
  send: async (_, __) => (failing-- > 0 ? { status: "retry", reason: "busy" } : { status: "sent" }),
});
const connectors = [
  connectorNamed("chat", (host) => {
    chat = host;
  }),
  connectorNamed("quiet", (host) => {
    quiet = host;
  }),
];
let failing = 0;

const ask = async (path: string, body?: object, headers: object = {}): Promise<{ status: number; json: unknown }> => {
  const response = await fetch(`${serving.gateway.url}${path}`, {
    method: body ? "POST" : "GET",
    headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json", ...headers },
    body: body && JSON.stringify(body),
  });
  const text = await response.text();
  return { status: response.status, json: text === "" ? undefined : JSON.parse(text) };
};
const say = (text: string, user = "ann", profile = "main") =>
  ask("/v1/chat/completions", { model: profile, user: user || undefined, messages: [{ role: "user", content: text }] });

/** A recording: it is stored, and sent to the transcriber. */
async function upload(name: string): Promise<void> {
  const body = Buffer.concat([Buffer.from("OggS"), Buffer.alloc(24), Buffer.from(`OpusHead${name}`), Buffer.alloc(40)]);
  const headers = { authorization: `Bearer ${TOKEN}`, "content-type": "application/octet-stream" };
  const { status } = await fetch(`${serving.gateway.url}/api/files?name=${name}`, { method: "POST", headers, body });
  expect(status).toBe(201);
}

let ids = 0;
const incoming = (more: object) => ({
  connector: "chat",
  userId: "ann1",
  channelId: "c1",
  messageId: String(++ids),
  text: "hello",
  delivery: { channel: "chat", to: "c1" },
  ...more,
});

/** Uses every part of the engine. */
async function exercise(n: 0 | 1): Promise<void> {
  await say("hello");
  await say("hello again");
  await upload(`recording${n}`);
  await say("call agents_list {}");
  await say("call sessions_list {}");
  await say("hello", "bob");
  await ask("/api/agents/agent:main:api:dm:ann/messages", { text: "hello" });
  // Without a user the owner speaks, whose agents reach all others.
  await say('call sessions_send {"sessionKey":"agent:main:api:dm:bob","message":"x"}', "");
  await say('call write {"path":"note.txt","content":"x"}');
  for (const child of [{ task: "own" }, { task: "other", agentId: "other" }]) {
    for (const profile of ["main", "plain"]) await say(`call sessions_spawn ${JSON.stringify(child)}`, "ann", profile);
  }
  await say(`call exec ${JSON.stringify({ command: "true", secrets: [`S${n}`] })}`, "", "acts");
  await say('call web_search {"query":"x"}', "", "acts");
  await say("hello", "", "program");
  await say("call current_time {}");
  for (const place of [
    { userId: `owner${n}` },
    { peerKind: "group", channelId: `peer${n}`, accountId: `account${n}`, guildId: "g", teamId: "t" },
    { peerKind: "channel", channelId: `peer${n}`, threadId: "7" },
    { connector: "quiet", threadId: "8", peerKind: "group" },
  ]) {
    const into = place.connector === "quiet" ? quiet : chat;
    for (const text of ["hello", "hello again"]) await into.accept(incoming({ ...place, text }) as never);
  }
  // Its run waits for an answer.
  await chat.accept(incoming({ userId: "asker", text: "call current_time {}" }) as never);
  expect((await ask("/api/agents", undefined, { authorization: "Bearer wrong" })).status).toBe(401);
  chat.reading?.();
  failing = 1;
  const body = JSON.stringify({ deployed: true });
  const at = Math.floor(Date.now() / 1_000);
  const signature = createHmac("sha256", `h${n}`)
    .update(n === 0 ? body : `${at}.${body}`)
    .digest("hex");
  const scheme =
    n === 0
      ? { "x-sign0": `sha256=${signature}` }
      : { "x-rookery-timestamp": String(at), "x-rookery-signature": `v1=${signature}` };
  const signed = { ...scheme, authorization: `Bearer h${n}`, [`x-id${n}`]: String(++ids) };
  expect((await ask("/hooks/deploy", { deployed: true }, signed)).status).toBe(202);
  const { json: invited } = await ask("/api/people/ann/invitations", {});
  const link = new URL((invited as { link: string }).link);
  expect(link.host).toBe(`p${n}.example.org`);
  const used = { invitation: link.hash.slice("#invite=".length), nonce: randomUUID() };
  expect((await ask("/api/logins", used)).status).toBe(200);
  const named = await fetch(`${serving.gateway.url}/api/people`, { headers: { [`x-user-${n}`]: "no-one" } });
  expect(named.status).toBe(403);
  await ask("/api/heartbeat/run", {});
  await ask("/api/heartbeat");
  await ask("/api/budgets");
  await ask("/api/agents");
  const stream = new AbortController();
  await fetch(`${serving.gateway.url}/api/events`, {
    headers: { authorization: `Bearer ${TOKEN}` },
    signal: stream.signal,
  });
  stream.abort();
  const job = { name: `due ${n}`, schedule: { kind: "at", at: new Date(Date.now() + 700).toISOString() } };
  const payload = { kind: "agentTurn", message: "tick" };
  const gates = [
    { kind: "command", command: "true" },
    { kind: "http", url: "http://127.0.0.1:1/" },
  ];
  const due = gates.map(async (gate) => {
    const added = await ask("/api/cron", { ...job, sessionTarget: "isolated", payload, gate });
    expect(added, JSON.stringify(added.json)).toMatchObject({ status: 201 });
    await vi.waitFor(async () => {
      const { json } = await ask(`/api/cron/${(added.json as { id: string }).id}/runs`);
      expect((json as { items: unknown[] }).items, JSON.stringify(json)).toHaveLength(1);
    }, 60_000);
  });
  await Promise.all(due);
  await serving.node.agents.directory.now();
  await serving.node.agents.settled();
}

beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), "rookery-reload-"));
  model = await fakeModel();
  model.script = script;
  write(configAt(0, model.port));
  const { config } = parseConfig({ text: JSON.stringify(configAt(0, model.port)), file: "x", env });
  serving = await serve({
    paths: homePaths(home),
    config,
    env,
    port: 0,
    connectors,
    onFatal: (error) => expect.unreachable(String(error)),
  });
  recordReads(serving.node.settings, (path) => void read.add(path));
  await exercise(0);
  const next = configAt(1, model.port) as { store: object };
  write({ ...next, store: { ...next.store, ...otherStore } });
  read.clear();
  report = await serving.reload();
  await exercise(1);
  // Rounds are an hour apart.
  retentionLimits(serving.node.settings.current);
  again = await serving.reload();
});
afterAll(async () => {
  await serving?.close();
  await model?.close();
  rmSync(home, { recursive: true, force: true });
});

/** Keys that the live view does not show as read, and the test below that shows their effect. */
const SHOWN_BELOW: Readonly<Record<string, string>> = {
  $schema: "the program does not read it",
  "gateway.tls.cert": "another certificate is used at once",
  "gateway.tls.key": "another certificate is used at once",
  "runs.maxConcurrent": "is resolved with the settings, as the sizes of the lanes",
  "people.unknown": "is resolved with the settings, as what tells people apart",
  "log.level": "writes the lines of the new level",
};

/** Both halves of the table: what the reload says about a key, and what the running engine does with it. */
describe("every key of the schema", () => {
  it.each(KEYS)("%s", (key) => {
    const names = (paths: readonly string[]): boolean => paths.some((path) => covers(path, key));
    if (key.startsWith("gateway.tls.")) return expect(SHOWN_BELOW[key]).toBeDefined();
    expect(names(report.changed), "the two configurations of the test do not differ in this key").toBe(true);
    if (isLive(key)) {
      expect(names(report.reloaded), "the reload does not name it").toBe(true);
      const shown = names([...read]) || SHOWN_BELOW[key] !== undefined;
      expect(
        shown,
        "nothing reads it after the reload: its old value is still in use, or the test does not use it",
      ).toBe(true);
    } else {
      expect(names(report.needsRestart), "the reload does not say that it needs a restart").toBe(true);
      expect(names(again.needsRestart), "a second reload does not say it again").toBe(true);
    }
  });

  it("keeps the values that need a restart, and shows the others", async () => {
    const { json } = await ask("/api/config");
    expect(json).toMatchObject({
      gateway: { port: 7_717, host: "127.0.0.1" },
      runs: { restore: "resume", maxIterations: 501 },
      store: { synchronous: "full", shard: "shard0" },
      telemetry: { enabled: false },
    });
    expect(JSON.stringify(json)).not.toContain("OTHER");
  });
});
