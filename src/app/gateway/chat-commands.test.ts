/** The whole table of commands on every connector: each is answered once, changes what it says, and calls no model. */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { idsIn } from "../../../test/kit/find-ids.ts";
import { configSchema } from "../../config/config-schema.ts";
import type { SessionKey } from "../../core/ids.ts";
import type { Connector, ConnectorHost } from "../../core/ports/connector.ts";
import type { Model } from "../../core/ports/model.ts";
import { chatCommands } from "../../engine/commands/chat-commands.ts";
import { openTestGateway, type TestGateway } from "./gateway.test-kit.ts";

/** The answer to each text: each command alone, and with the words that may follow it. */
const ANSWERS: Readonly<Record<string, readonly (readonly [string, RegExp])[]>> = {
  start: [
    ["/start", /^Hello\. .*\/help lists the commands\.$/],
    ["/start k7mzq2k7mz", /^Hello\. /],
  ],
  new: [["/new", /^Session reset\.$/]],
  reset: [["/reset", /^Session reset\.$/]],
  stop: [
    ["/stop", /No active inference to stop\./],
    ["stop", /No active inference to stop\./],
  ],
  compact: [["/compact", /./]],
  again: [["/again", /No answer here is unconfirmed\./]],
  status: [["/status", /Model: .*\nContext: .*\nToday: .*\nRun: .*\nWaiting: nothing$/]],
  model: [
    ["/model", /Model: .*offline.*\n[\s\S]*Set one with \/model NAME/],
    ["/model offline", /Model: offline\./],
    ["/model nonsense/x", /There is no model "nonsense\/x"\. .*Nothing was changed\./],
    ["/model default", /back to the default/],
  ],
  think: [
    ["/think", /Thinking: .*Choose: off, minimal/],
    ["/think high", /Thinking: high\./],
    ["/think hihg", /"hihg" is not one of/],
    ["/think default", /back to the default/],
  ],
  verbose: [
    ["/verbose", /Verbose: /],
    ["/verbose on", /Verbose: on\./],
  ],
  reasoning: [
    ["/reasoning", /Reasoning: /],
    ["/reasoning off", /Reasoning: off\./],
  ],
  elevated: [
    ["/elevated", /Elevated: /],
    ["/elevated on", /Elevated: on\./],
  ],
  activation: [
    ["/activation", /Group activation: /],
    ["/activation mention", /Group activation: mention\./],
  ],
  usage: [
    ["/usage", /Usage lines: [\s\S]*Today: /],
    ["/usage off", /Usage lines: off\./],
  ],
  queue: [
    ["/queue", /Queue: mode .*\nModes: /],
    ["/queue collect cap:2.7", /Queue: mode collect, cap 2\./],
    ["/queue sideways", /"sideways" is not a queue setting/],
    ["/queue reset", /back to the default/],
  ],
  send: [
    ["/send", /Send policy: /],
    ["/send inherit", /Send policy set to inherit\./],
  ],
  approve: [
    ["/approve", /No call waits for an answer\./],
    ["/approve kfmz", /There is no approval kfmz\./],
  ],
  deny: [
    ["/deny", /No call waits for an answer\./],
    ["/deny kfmz no", /There is no approval kfmz\./],
  ],
  pair: [
    ["/pair", /No one waits/],
    ["/pair kfmz", /kfmz/],
  ],
  link: [["/link", /./]],
  remind: [
    ["/remind", /Write when, then what: \/remind 20m tea,/],
    ["/remind soon tea", /Write when, then what/],
    ["/remind 9000d tea", /I will remind you at 20\d\d-\d\d-\d\d .*\. \/cron remove /],
    ["/remind today 0:00 tea", /That time is in the past/],
  ],
  cron: [
    ["/cron", /Jobs:\n- tea[^(]*: /],
    ["/cron run nothing", /unknown cron job id: nothing/],
    ["/cron dance", /Usage: \/cron/],
  ],
  subagents: [["/subagents", /No children\./]],
  memory: [
    ["/memory", /Nothing is written down yet\./],
    ["/memory plans", /There is no memory file "plans"\./],
  ],
  help: [
    ["/help", /\/status – /],
    ["/help model", /^\/model .*\n[\s\S]*Example: /],
    ["/halp", /There is no \/halp\. Did you mean \/help\?/],
  ],
};

/** Settings that only the owner may change. */
const OWNERS: readonly string[] = ["/elevated on", "/send inherit", "/pair", "/pair kfmz"];
const REFUSED = /You may not use \/\w+(?: here: only the owner changes it\.|: it belongs )/;

let calls: string[] = [];
const model: Model = {
  async call({ messages }) {
    calls.push(JSON.stringify(messages.at(-1)));
    return { content: [{ type: "text", text: "fine" }], stopReason: "stop", api: "a", provider: "p", model: "m" };
  },
};

interface Chat extends Connector {
  say(text: string, user: string): Promise<readonly string[]>;
}

let ids = 0;
/** A channel that a person reads: a text, and everything that is sent until the node rests. */
function chat(name: string): Chat {
  const sent: string[] = [];
  let host: ConnectorHost | undefined;
  return {
    ...{ name, capabilities: { sendText: true }, sendingClass: "idempotent" },
    start: async (given) => {
      host = given;
    },
    stop: async () => {},
    health: () => ({ ok: true, detail: "" }),
    send: async ({ payload }) => {
      sent.push(payload.text ?? "");
      return { status: "sent" };
    },
    async say(text, user) {
      const target = { connector: name, userId: user, channelId: user, delivery: { channel: name, to: user } };
      await host?.accept({ ...target, messageId: `m${++ids}`, text });
      await kit.node.agents.settled();
      return sent.splice(0);
    },
  };
}

const [talk, plain] = [chat("talk"), chat("plain")];
const config = {
  commands: { plain: false },
  owner: { accounts: ["talk:boss"] },
  people: { unknown: "guest" },
  queue: { mode: "queue" },
};
let kit: TestGateway;
beforeAll(async () => {
  kit = await openTestGateway({ model, config, connectors: [talk, plain] });
});
afterAll(() => kit.close());

async function terminal(text: string): Promise<readonly string[]> {
  const body = { user: "owner", text };
  const { json } = await kit.ask({ method: "POST", path: "/api/terminal/messages", body });
  const found: string[] = [];
  for (const { agentId, seq } of json.messages as readonly { agentId: string; seq: number }[]) {
    const { json: read } = await kit.ask({ path: `/api/terminal/messages/${agentId}/${seq}?waitSeconds=60` });
    found.push(...(read.replies as readonly { text: string }[]).map((one) => one.text));
  }
  return found;
}

async function api(text: string, on: boolean): Promise<readonly string[]> {
  kit.config = configSchema.parse({ ...kit.config, commands: { api: on } });
  const path = "/api/agents/agent:main:api:dm:ann/messages";
  const { json } = await kit.ask({ method: "POST", path, body: { text, waitSeconds: 60 } });
  const { text: said } = json.answer as { text: string };
  return said === "" ? [] : [said];
}

/** The routes of OpenAI, which clients of other programs use. A conversation of their own: a stop in it ends nothing else. */
async function openai(route: "chat/completions" | "responses", text: string, on: boolean): Promise<readonly string[]> {
  kit.config = configSchema.parse({ ...kit.config, commands: { api: on } });
  const said = route === "responses" ? { input: text } : { messages: [{ role: "user", content: text }] };
  const body = { model: "main", user: `openai-${route}`, ...said };
  const { status, json } = await kit.ask({ method: "POST", path: `/v1/${route}`, body });
  expect([status, JSON.stringify(json)]).toEqual([200, expect.any(String)]);
  const { choices, output } = json as {
    choices?: readonly { message: { content: string } }[];
    output?: readonly { content: readonly { text: string }[] }[];
  };
  const answer = choices?.[0]?.message.content ?? output?.[0]?.content[0]?.text ?? "";
  return answer === "" ? [] : [answer];
}

/** The pieces of text in a stream, put together. */
async function streamed(path: string, body: object, on: boolean): Promise<readonly string[]> {
  kit.config = configSchema.parse({ ...kit.config, commands: { api: on } });
  const { status, text } = await kit.ask({ method: "POST", path, body });
  expect(status, text).toBe(200);
  const pieces = text.split("\n").flatMap((line) => {
    if (!line.startsWith("data: {")) return [];
    const { choices, type, delta } = JSON.parse(line.slice(6));
    return [choices?.[0]?.delta?.content ?? (/text-delta|output_text\.delta/.test(type) ? delta : "")];
  });
  const answer = pieces.join("");
  return answer === "" ? [] : [answer];
}

const streamedChat = (content: string, on: boolean): Promise<readonly string[]> =>
  streamed(
    "/v1/chat/completions",
    { model: "main", user: "streamed", stream: true, messages: [{ role: "user", content }] },
    on,
  );
const streamedResponse = (input: string, on: boolean): Promise<readonly string[]> =>
  streamed("/v1/responses", { model: "main", user: "streamed-responses", stream: true, input }, on);
const uiChat = (text: string, on: boolean): Promise<readonly string[]> =>
  streamed("/api/chat", { id: "ui", messages: [{ role: "user", parts: [{ type: "text", text }] }] }, on);

async function mcp(text: string, on: boolean): Promise<readonly string[]> {
  kit.config = configSchema.parse({ ...kit.config, commands: { api: on } });
  const headers = { accept: "application/json, text/event-stream" };
  const params = { name: "ask", arguments: { agent: "mcp", text } };
  const body = { jsonrpc: "2.0", id: 1, method: "tools/call", params };
  const reply = await kit.ask({ method: "POST", path: "/mcp", headers, body });
  const last = reply.text.split("\n").findLast((line) => line.includes('"result"')) ?? "";
  const said: string = JSON.parse(last.replace(/^data: /, "")).result.content[0]?.text ?? "";
  return said === "" ? [] : [said];
}

/** Every connector, and how a person uses it. */
const CONNECTORS: readonly {
  readonly name: string;
  readonly guest?: boolean;
  readonly off?: boolean;
  say(text: string): Promise<readonly string[]>;
}[] = [
  { name: "terminal", say: terminal },
  { name: "a chat, the owner", say: (text) => talk.say(text, "boss") },
  { name: "a chat, a guest", guest: true, say: (text) => talk.say(text, "ann") },
  { name: "a chat with commands off", off: true, say: (text) => plain.say(text, "ann") },
  { name: "the API with commands on", say: (text) => api(text, true) },
  { name: "the API", off: true, say: (text) => api(text, false) },
  {
    name: "the API, completions, with commands on",
    guest: true,
    say: (text) => openai("chat/completions", text, true),
  },
  { name: "the API, completions", off: true, say: (text) => openai("chat/completions", text, false) },
  { name: "the API, responses, with commands on", guest: true, say: (text) => openai("responses", text, true) },
  { name: "the API, responses", off: true, say: (text) => openai("responses", text, false) },
  { name: "the API, streamed completions, with commands on", guest: true, say: (text) => streamedChat(text, true) },
  { name: "the API, streamed completions", off: true, say: (text) => streamedChat(text, false) },
  { name: "the API, streamed responses, with commands on", guest: true, say: (text) => streamedResponse(text, true) },
  { name: "the API, streamed responses", off: true, say: (text) => streamedResponse(text, false) },
  { name: "the API, the AI SDK, with commands on", guest: true, say: (text) => uiChat(text, true) },
  { name: "the API, the AI SDK", off: true, say: (text) => uiChat(text, false) },
  { name: "the API, MCP, with commands on", guest: true, say: (text) => mcp(text, true) },
  { name: "the API, MCP", off: true, say: (text) => mcp(text, false) },
];

/** Kinds of their own, whose result over the API is not a text. */
const SILENT_OVER_API = ["new", "reset", "stop", "compact", "subagents"];

it.each(CONNECTORS.filter(({ off }) => !off))(
  "/memory shows what entered the last answer on $name",
  async ({ say }) => {
    await say("hello");
    const [said] = await say("/memory");
    expect(said).toMatch(
      /In the last answer \([\d,]+ characters, about [\d,]+ tokens of prompt\):\n- prompt: \d+ characters/,
    );
  },
);

let cells = 0;
describe.each(CONNECTORS)("on $name", ({ name, guest, off, say }) => {
  it.each(chatCommands.map((command) => command.name))("/%s", async (command) => {
    for (const [text, expected] of ANSWERS[command] ?? []) {
      calls = [];
      const said = await say(text);
      cells += 1;
      if (off) {
        expect([said, calls.length], text).toEqual([["fine"], 1]);
        expect(calls[0]).toContain(text);
        continue;
      }
      expect(calls, text).toEqual([]);
      if (SILENT_OVER_API.includes(command) && name.startsWith("the API")) continue;
      expect(said.length, text).toBe(command === "compact" ? said.length : 1);
      const wanted = guest && OWNERS.includes(text) ? REFUSED : expected;
      if (command !== "compact") expect(said[0], text).toMatch(wanted);
      expect(said.flatMap(idsIn), text).toEqual([]);
    }
  });
});

it("covers every command of the table", () => {
  expect(Object.keys(ANSWERS).sort()).toEqual(chatCommands.map(({ name }) => name).sort());
  process.stderr.write(`chat commands: ${chatCommands.length} × ${CONNECTORS.length} connectors, ${cells} cells\n`);
});

describe("text that is not a command", () => {
  it("reaches the model through the API", async () => {
    calls = [];
    await api("/etc/hosts is broken", false);
    expect(calls[0]).toContain("/etc/hosts is broken");
  });

  it("a command with a message after it is carried out, and the message is answered", async () => {
    expect(await terminal("/queue reset hello")).toEqual([expect.stringMatching(/back to the default/), "fine"]);
    expect(await api("/queue reset hello", true)).toEqual(["fine"]);
    for (const route of ["chat/completions", "responses"] as const)
      expect(await openai(route, "/new hello", true)).toEqual(["fine"]);
    expect(await talk.say("/new hello", "boss")).toEqual(["Session reset.", "fine"]);
  });

  it("carries a command of a repeated request out once", async () => {
    kit.config = configSchema.parse({ ...kit.config, commands: { api: true } });
    const { store } = kit.node.ports;
    const body = { model: "main", user: "twice", messages: [{ role: "user", content: "/new hello" }] };
    for (const count of ["0", "1"]) {
      const headers = { "x-stainless-retry-count": count };
      await kit.ask({ method: "POST", path: "/v1/chat/completions", body, headers });
    }
    const agent = await store.agentByKey("agent:main:api:dm:twice" as SessionKey);
    const kinds = agent && (await store.messages(agent.id, { limit: 9 })).map((one) => one.body.kind);
    expect(kinds).toEqual(["user", "reset"]);
  });

  it("settings are in force for the next message, and only in their conversation", async () => {
    await talk.say("/queue collect debounce:2s", "boss");
    await talk.say("/think high", "boss");
    expect((await talk.say("/queue", "boss"))[0]).toMatch(/mode collect, debounceMs 2000/);
    expect((await talk.say("/think", "boss"))[0]).toMatch(/Thinking: high/);
    expect((await talk.say("/think", "ann"))[0]).toMatch(/Thinking: the default/);
  });
});
