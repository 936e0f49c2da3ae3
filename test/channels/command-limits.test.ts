/**
 * Every command with values at and beyond its limits, on every connector and every route that reads commands: no value blocks its
 * conversation (M48). After each command the conversation answers a plain message.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { stdinConnector } from "../../src/adapters/connectors/stdin/stdin-connector.ts";
import { whatsappWebConnector } from "../../src/adapters/connectors/whatsapp-web/whatsapp-web-connector.ts";
import { createRookery, type Rookery } from "../../src/app/library/create-rookery.ts";
import { virtualClock } from "../../src/app/testing/clock.ts";
import { seededIds } from "../../src/app/testing/ids.ts";
import { recordingLog } from "../../src/app/testing/log.ts";
import { lastText, type ModelCall } from "../../src/app/testing/model.ts";
import { scripted } from "../../src/app/testing/scripted.ts";
import { memoryStore } from "../../src/app/testing/store.ts";
import { configSchema } from "../../src/config/config-schema.ts";
import type { Connector } from "../../src/core/ports/connector.ts";
import { chatCommands } from "../../src/engine/commands/chat-commands.ts";
import { FakeTelegram } from "../telegram/fake-telegram.ts";
import { FakeProgram } from "../webhook/fake-program.ts";
import { FakeWhatsapp } from "../whatsapp/fake-whatsapp.ts";
import { FakeWeb } from "../whatsapp-web/fake-web.ts";

/** Texts after a command, and what its answer must say. Every command gets those of `ANY` too. */
const VALUES: Readonly<Record<string, readonly (readonly [string, RegExp?])[]>> = {
  queue: [
    ["debounce:0"],
    ["debounce:1h", /debounceMs 3600000/],
    ["debounce:3600001ms", /from 0 to 60 minutes/],
    ["debounce:2h", /from 0 to 60 minutes/],
    [`debounce:${"9".repeat(300)}d`, /from 0 to 60 minutes/],
    ["debounce:-1", /from 0 to 60 minutes/],
    ["debounce:2h and this text", /from 0 to 60 minutes/],
    ["cap:1", /cap 1\b/],
    ["cap:10000", /cap 10000/],
    ["cap:10001", /a cap from 1 to 10000/],
    ["cap:100000", /a cap from 1 to 10000/],
    ["cap:0", /a cap from 1 to 10000/],
    ["cap:1e9", /a cap from 1 to 10000/],
    ["drop:summarize"],
    ["drop:never", /not a queue setting/],
    ["reset", /back to the default/],
  ],
  think: [["off"], ["xhigh"], ["xxhigh", /is not one of off, minimal/], ["default"]],
  model: [["m".repeat(256)], ["m".repeat(257)], ["default", /back to the default/]],
  verbose: [["full"], ["fuller", /is not one of off, on, full/], ["default"]],
  reasoning: [["on"], ["reasoning", /is not one of off, on/], ["default"]],
  elevated: [["full"], ["most", /is not one of/], ["default"]],
  activation: [["always"], ["sometimes", /is not one of mention, always/], ["default"]],
  usage: [["tokens"], ["all", /is not one of/], ["default"]],
  send: [["on"], ["perhaps", /is not one of on, off, inherit/], ["inherit"]],
  approve: [
    ["kfmz", /There is no approval kfmz\./],
    ["kfmz always and forever"],
    ["all", /./],
    [`${"kfmz ".repeat(60)}`],
  ],
  deny: [
    ["kfmz", /There is no approval kfmz\./],
    ["kfmz no\u0000reason 💥"],
    ["all", /./],
    [`kfmz ${"because ".repeat(400)}`],
  ],
  pair: [["kfmz", /kfmz/], ["k7mzq2k7mz as owner"], ["../../etc", /./], ["-1"]],
  link: [["kfmz", /./], ["k7mzq2k7mz", /./], ["telegram:0", /./], ["\u202eabc"]],
  compact: [["keep only numbers"], ["\n\n"], ["-1"]],
  again: [["1"], ["-1"], ["99999999999999999999"]],
  new: [["/new /new"], ["model:none"]],
  reset: [["/reset"], ["-1"]],
  stop: [["now please"], ["-1"]],
  start: [["k7mzq2k7mz"], ["\u202e"]],
  status: [["-1"], ["all"]],
  help: [["model", /\/model /], ["nothing of the kind"], ["../../etc"]],
  memory: [["undo 999999999999999"], ["undo 9999999999999999"]],
  remind: [
    ["1ms", /Write when, then what/],
    [`${"9".repeat(300)}d tea`, /Write when, then what/],
    ["25:61 tea", /Write when, then what/],
    ["2026-13-45 9:00 tea", /Write when, then what/],
    [`30d ${"x".repeat(3_000)}`, /I will remind you at/],
  ],
  cron: [["run 999"], ["off"]],
  subagents: [["stop 999999999999"], ["log 1 1e999"]],
};
const ANY = ["", "x".repeat(300), "y".repeat(4_000), "a\u0007b 💥", "\u202eسلام e\u0301 👩‍👩‍👧"];

const TEXTS = chatCommands.flatMap(({ name }) => [
  ...ANY.map((value) => [`/${name} ${value}`.trim(), undefined] as const),
  ...(VALUES[name] ?? []).map(([value, says]) => [`/${name} ${value}`, says] as const),
]);

const [TELEGRAM, WHATSAPP, WEB, PROGRAM] = [7, "4915001", "4915002", "boss"] as const;
const WEB_NAME = "whatsapp-web";
const WAIT_MS = 20_000;
const clock = virtualClock();
const printed: string[] = [];
/** The answers of the routes, by user. */
const answered = new Map<string, string[]>();
const lines: ((line: string) => void)[] = [];
const web = new FakeWeb();
let telegram: FakeTelegram;
let whatsapp: FakeWhatsapp;
let program: FakeProgram;
let rookery: Rookery;
let apiToken = "";

async function* input(): AsyncGenerator<string> {
  for (;;) yield `${await new Promise<string>((resolve) => lines.push(resolve))}\n`;
}

function webConnector(): Connector {
  const settings = configSchema.parse({ connectors: { [WEB_NAME]: {} } }).connectors[WEB_NAME];
  if (!settings) throw new TypeError("no settings");
  const ports = { clock, log: recordingLog([]), store: memoryStore(), ids: seededIds("web") };
  return whatsappWebConnector({ name: WEB_NAME, settings, reveal: () => "", ports, openWeb: web.open });
}

beforeAll(async () => {
  telegram = await new FakeTelegram({ clock }).start();
  whatsapp = await new FakeWhatsapp({
    clock,
    bring: async (request) =>
      (await rookery.fetch(new Request("http://127.0.0.1/channels/whatsapp", { method: "POST", ...request }))).status,
  }).start();
  program = await new FakeProgram({
    clock,
    bring: async (request) =>
      (await rookery.fetch(new Request("http://127.0.0.1/channels/shop", { method: "POST", ...request }))).status,
  }).start();
  const terminal = stdinConnector({
    ...{ input: input(), user: "owner", lines: true, errors: { write: () => true } },
    output: { write: (text: string) => printed.push(text) },
  });
  terminal.finished.catch(() => undefined);
  const { token, appSecret, number: phoneNumberId, url, verifyToken: secret } = whatsapp;
  rookery = await createRookery({
    ...{ home: "memory", clock, connectors: [terminal as Connector, webConnector()] },
    model: scripted(
      ...Array.from(
        { length: 5_000 },
        () =>
          ({ request }: ModelCall) =>
            `answer to ${lastText(request).slice(-40)}`,
      ),
    ),
    config: {
      session: { dmScope: "per-channel-peer" },
      commands: { api: true },
      connectors: {
        telegram: { token: "123456:fake-token", apiRoot: telegram.url, drafts: false },
        whatsapp: { token, appSecret, phoneNumberId, apiRoot: url, webhook: { secret } },
        shop: { kind: "webhook", sendUrl: program.url, webhook: { secret: program.secret } },
      },
      owner: { accounts: [`telegram:${TELEGRAM}`, `whatsapp:${WHATSAPP}`, `${WEB_NAME}:${WEB}`, `webhook:${PROGRAM}`] },
    },
  });
  await telegram.until(() => web.isConnected);
  await rookery.fetch(new Request("http://127.0.0.1/health"));
  apiToken = readFileSync(join(rookery.home, "token"), "utf8").trim();
});

afterAll(async () => {
  await telegram.during(rookery.close());
  await telegram.close();
  await Promise.all([whatsapp.close(), program.close()]);
});

/** One request as a user, whose answer is kept. Returns the JSON. */
async function ask(user: string, path: string, body?: object): Promise<unknown> {
  const request = new Request(`http://127.0.0.1${path}`, {
    method: body ? "POST" : "GET",
    headers: { "content-type": "application/json", authorization: `Bearer ${apiToken}` },
    body: body && JSON.stringify(body),
  });
  const response = await telegram.during(rookery.fetch(request));
  const text = await response.text();
  answered.set(user, [...(answered.get(user) ?? []), text]);
  return response.headers.get("content-type")?.includes("json") ? JSON.parse(text) : text;
}

/** The route that the terminal and the control room use. */
async function seat(text: string): Promise<void> {
  const { messages } = (await ask("desk", "/api/terminal/messages", { user: "desk", text })) as {
    messages: readonly { agentId: string; seq: number }[];
  };
  for (const { agentId, seq } of messages) await ask("desk", `/api/terminal/messages/${agentId}/${seq}?waitSeconds=60`);
}

const textsOf = (user: string) => () => answered.get(user) ?? [];
/** The answer to a guest who changes a setting of the owner. */
const REFUSED = /You may not use \/\w+/;

/** How a person writes on each connector, and what they have read. */
const CONNECTORS: readonly {
  readonly name: string;
  readonly isGuest?: true;
  say(text: string): unknown;
  texts(): readonly string[];
}[] = [
  { name: "telegram", say: (text) => telegram.say(TELEGRAM, text), texts: () => telegram.textsTo(TELEGRAM) },
  { name: "whatsapp", say: (text) => whatsapp.say(WHATSAPP, text), texts: () => whatsapp.textsTo(WHATSAPP) },
  { name: "whatsapp-web", say: (text) => web.say(WEB, text, clock.now()), texts: () => web.texts() },
  {
    name: "terminal",
    say: async (text) => {
      await telegram.until(() => lines.length > 0);
      lines.shift()?.(text);
    },
    texts: () => printed,
  },
  {
    name: "the webhook connector",
    say: (text) => program.say(PROGRAM, text),
    texts: () => program.textsTo(PROGRAM).map(String),
  },
  { name: "the terminal route", say: seat, texts: textsOf("desk") },
  {
    name: "the route of messages",
    say: (text) => ask("ann", "/api/agents/agent:main:api:dm:ann/messages", { text, waitSeconds: 60 }),
    texts: textsOf("ann"),
  },
  {
    ...{ name: "chat completions", isGuest: true, texts: textsOf("bob") },
    say: (content) =>
      ask("bob", "/v1/chat/completions", { user: "bob", model: "main", messages: [{ role: "user", content }] }),
  },
  {
    ...{ name: "responses", isGuest: true, texts: textsOf("cid") },
    say: (input) => ask("cid", "/v1/responses", { user: "cid", model: "main", input }),
  },
];

/** The owner's conversation and the clock are shared: these commands end a run there, or change how long messages wait. */
const ONE_BY_ONE = ["queue", "new", "reset", "stop"];

let cells = 0;
async function tryCommand(command: string, { name, say, texts, isGuest }: (typeof CONNECTORS)[number]): Promise<void> {
  const until = (holds: () => boolean, what: string): Promise<void> =>
    telegram.until(holds, WAIT_MS).catch((cause) => {
      throw new Error(`${name}: ${what}, but: ${JSON.stringify(texts().slice(-6))}`, { cause });
    });
  for (const [text, says] of TEXTS.filter(([one]) => one === `/${command}` || one.startsWith(`/${command} `))) {
    cells += 1;
    const before = texts().length;
    const plain = `plain ${name} ${cells}.`;
    await say(text);
    if (says)
      await until(
        () =>
          texts()
            .slice(before)
            .some((one) => says.test(one) || (isGuest && REFUSED.test(one))),
        `no answer to ${text}`,
      );
    await say(plain);
    await until(() => texts().some((one) => one.includes(plain)), `no answer to the message after ${text}`);
  }
}

it.each(chatCommands.map((command) => command.name))(
  "answers a plain message after /%s on every connector",
  async (command) => {
    if (ONE_BY_ONE.includes(command)) for (const connector of CONNECTORS) await tryCommand(command, connector);
    else await Promise.all(CONNECTORS.map((connector) => tryCommand(command, connector)));
  },
);

it("covers every command on every connector", () => {
  process.stderr.write(`command limits: ${TEXTS.length} texts × ${CONNECTORS.length} connectors, ${cells} cells\n`);
  expect(cells).toBe(TEXTS.length * CONNECTORS.length);
});
