/**
 * Typed texts on every channel, over its real test server: which of them are commands, and how the model reads the others. A
 * quote, a mention or a file around a text changes nothing about it; a forwarded text is never a command.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { stdinConnector } from "../../src/adapters/connectors/stdin/stdin-connector.ts";
import { whatsappWebConnector } from "../../src/adapters/connectors/whatsapp-web/whatsapp-web-connector.ts";
import { createRookery, type Rookery } from "../../src/app/library/create-rookery.ts";
import { virtualClock } from "../../src/app/testing/clock.ts";
import { seededIds } from "../../src/app/testing/ids.ts";
import { recordingLog } from "../../src/app/testing/log.ts";
import { lastText, type ModelCall, type Reply, stall } from "../../src/app/testing/model.ts";
import { scripted } from "../../src/app/testing/scripted.ts";
import { memoryStore } from "../../src/app/testing/store.ts";
import { configSchema } from "../../src/config/config-schema.ts";
import type { Connector } from "../../src/core/ports/connector.ts";
import { FakeTelegram, person, privateChat } from "../telegram/fake-telegram.ts";
import { FakeProgram } from "../webhook/fake-program.ts";
import { FakeWhatsapp } from "../whatsapp/fake-whatsapp.ts";
import { FakeWeb } from "../whatsapp-web/fake-web.ts";

/** How a text is said. `reply`: to a message that says "earlier". */
type How = "plain" | "reply" | "forwarded" | "file" | "group";

interface Chat {
  readonly name: string;
  /** The ways in which this channel can say a text. */
  readonly can: readonly How[];
  /** The agent's name in groups. */
  readonly bot?: string;
  /** Whether the channel shows the text of the message that is answered. */
  readonly quotes?: true;
  say(text: string, how: How): void;
  shown(how: How): readonly string[];
}

const clock = virtualClock();
const IMAGE = Buffer.from("\x89PNG\r\n\x1a\nx");
const PHONE = "4915001";
const prompts: string[] = [];
const printed: string[] = [];
const lines: ((line: string) => void)[] = [];
const typed: string[] = [];
let isSlow = false;

async function* input(): AsyncGenerator<string> {
  for (;;) yield `${typed.shift() ?? (await new Promise<string>((resolve) => lines.push(resolve)))}\n`;
}

const bring =
  (path: string) =>
  async (request: { readonly body: string; readonly headers: Record<string, string> }): Promise<number> =>
    (await rookery.fetch(new Request(`http://127.0.0.1/channels/${path}`, { method: "POST", ...request }))).status;

const telegram = new FakeTelegram({ clock });
const whatsapp = new FakeWhatsapp({ clock, bring: bring("whatsapp") });
const program = new FakeProgram({ clock, bring: bring("shop") });
const web = new FakeWeb();
let rookery: Rookery;

function webAccount(): Connector {
  const settings = configSchema.parse({ connectors: { web: { kind: "whatsapp-web" } } }).connectors.web;
  if (!settings) throw new TypeError("no settings");
  const ports = { clock, log: recordingLog([]), store: memoryStore(), ids: seededIds("web") };
  return whatsappWebConnector({ name: "web", settings, reveal: () => "", ports, openWeb: web.open });
}

const answer = (call: ModelCall): Reply | Promise<Reply> => {
  const text = lastText(call.request);
  prompts.push(text);
  return isSlow ? stall(call, new Promise(() => {})) : `answer ${prompts.length}`;
};

beforeAll(async () => {
  await Promise.all([telegram.start(), whatsapp.start(), program.start()]);
  telegram.files.set("photo", IMAGE);
  whatsapp.media.set("photo", { data: IMAGE, mime: "image/png" });
  const terminal = stdinConnector({
    ...{ input: input(), user: "owner", lines: true, errors: { write: () => true } },
    output: { write: (text: string) => printed.push(text.trim()) },
  });
  terminal.finished.catch(() => undefined);
  const { token, appSecret, number: phoneNumberId, url, verifyToken } = whatsapp;
  rookery = await createRookery({
    ...{ home: "memory", clock, connectors: [terminal, webAccount()] },
    model: scripted(...Array.from({ length: 200 }, () => answer)),
    config: {
      connectors: {
        telegram: { token: telegram.token, apiRoot: telegram.url, drafts: false },
        whatsapp: { token, appSecret, phoneNumberId, apiRoot: url, webhook: { secret: verifyToken } },
        shop: { kind: "webhook", sendUrl: program.url, webhook: { secret: program.secret } },
      },
      people: { unknown: "guest" },
    },
  });
});

afterAll(async () => {
  await telegram.during(rookery.close());
  await Promise.all([telegram.close(), whatsapp.close(), program.close()]);
});

const quoted = { message_id: 3, date: 1, from: person(43), chat: privateChat(42), text: "earlier" };
const CHATS: readonly Chat[] = [
  {
    ...{ name: "Telegram", can: ["plain", "reply", "forwarded", "file", "group"], bot: "@rook_bot", quotes: true },
    say(text, how) {
      if (how === "group") return void telegram.sayIn(-42, 42, text);
      const file = { text: undefined, caption: text };
      const photo = [{ file_id: "photo", file_unique_id: "p", width: 9, height: 9 }];
      const more = {
        ...{ plain: {}, reply: { reply_to_message: quoted }, file: { ...file, photo } },
        forwarded: { forward_origin: { type: "hidden_user", sender_user_name: "Eve", date: 1 } },
      };
      telegram.say(42, text, more[how]);
    },
    shown: (how) => telegram.textsTo(how === "group" ? -42 : 42),
  },
  {
    ...{ name: "WhatsApp", can: ["plain", "reply", "forwarded", "file", "group"], bot: "@15550001111" },
    say(text, how) {
      const more = {
        ...{ plain: {}, reply: { context: { id: "wamid.x", from: "49777" } }, group: { group_id: "G.room" } },
        ...{ forwarded: { context: { forwarded: true } } },
        file: { type: "image", text: undefined, image: { id: "photo", caption: text, mime_type: "image/png" } },
      };
      whatsapp.say(PHONE, text, more[how]);
    },
    shown: (how) => whatsapp.textsTo(how === "group" ? "G.room" : PHONE),
  },
  {
    ...{ name: "WhatsApp Web", can: ["plain", "reply", "forwarded", "file", "group"], bot: "@888", quotes: true },
    say(text, how) {
      const id = web.takeId();
      web.files.set(id, IMAGE);
      const extended = (contextInfo: object) => ({ extendedTextMessage: { text, contextInfo } });
      const content = {
        ...{ plain: { conversation: text }, forwarded: extended({ isForwarded: true }) },
        reply: extended({
          stanzaId: "Q",
          participant: "492@s.whatsapp.net",
          quotedMessage: { conversation: "earlier" },
        }),
        ...{
          file: { imageMessage: { caption: text, mimetype: "image/png" } },
          group: extended({ mentionedJid: ["888@lid"] }),
        },
      };
      const direct = { remoteJid: `${PHONE}@s.whatsapp.net`, fromMe: false, id };
      const inGroup = { remoteJid: "120@g.us", participant: `${PHONE}@s.whatsapp.net`, fromMe: false, id };
      web.say(PHONE, text, clock.now(), { key: how === "group" ? inGroup : direct, message: content[how] });
    },
    shown: (how) =>
      [...web.shown.values()]
        .filter(({ jid }) => jid.endsWith("@g.us") === (how === "group"))
        .map(({ content }) => String(content.text)),
  },
  {
    ...{ name: "a program", can: ["plain", "reply", "file"] },
    say(text, how) {
      const more = {
        plain: {},
        reply: { replyTo: "m0" },
        file: { files: [{ name: "a.png", data: IMAGE.toString("base64") }] },
      };
      program.say("ann", text, how in more ? more[how as keyof typeof more] : {});
    },
    shown: () => program.textsTo("ann").map(String),
  },
  {
    ...{ name: "standard input", can: ["plain"] },
    say(text) {
      const waiting = lines.shift();
      if (waiting) waiting(text);
      else typed.push(text);
    },
    shown: () => printed,
  },
];

/** The texts that a person sees, and the prompt of the model. */
interface Outcome {
  readonly shown: readonly RegExp[];
  readonly read?: string | RegExp;
}
const STOPPED: Outcome = { shown: [/^No active inference to stop\.$/u] };
const read = (text: string | RegExp): Outcome => ({ shown: [/^answer \d+$/u], read: text });
const FRESH = /^Session reset\.$/u;

type Case = readonly [text: string, how: How, outcome: Outcome | ((chat: Chat) => Outcome)];
const quoteIn = ({ quotes }: Chat, text: string): RegExp =>
  quotes ? new RegExp(`^\\[In reply to [^:]+: earlier\\]\n${text}`, "u") : new RegExp(`^${text}`, "u");

const CASES: readonly Case[] = [
  ["stop", "plain", STOPPED],
  ["/stop", "plain", STOPPED],
  ["/new hello", "plain", { shown: [FRESH, /^answer/u], read: "hello" }],
  ["/queue", "plain", { shown: [/Queue: mode /u] }],
  ["/queue interrupt leave that", "plain", read("leave that")],
  ["/etc/hosts is broken", "plain", read("/etc/hosts is broken")],
  ["stop", "reply", STOPPED],
  ["/status", "reply", { shown: [/Model: /u] }],
  ["/new and this?", "reply", (chat) => ({ shown: [FRESH, /^answer/u], read: quoteIn(chat, "and this") })],
  ["/etc/hosts is broken", "reply", (chat) => read(quoteIn(chat, "/etc/hosts is broken"))],
  ["/queue interrupt leave that", "reply", (chat) => read(quoteIn(chat, "leave that"))],
  ["BOT stop", "group", STOPPED],
  ["BOT /new", "group", { shown: [FRESH] }],
  ["BOT hello", "group", read(/hello$/u)],
  ["stop", "forwarded", read(/^\[Forwarded from \w+\]\nstop$/u)],
  ["/new hello", "forwarded", read(/^\[Forwarded from \w+\]\n\/new hello$/u)],
  ["stop", "file", read(/^stop/u)],
  ["/new look", "file", { shown: [FRESH, /^answer/u], read: /^look/u }],
];

describe.each(CHATS.map((chat) => [chat.name, chat] as const))("on %s", (_, chat) => {
  const cases = CASES.filter(([, how]) => chat.can.includes(how));

  it.each(cases)("reads %j, %s", async (text, how, outcome) => {
    const { shown, read: wanted } = typeof outcome === "function" ? outcome(chat) : outcome;
    const [before, calls] = [chat.shown(how).length, prompts.length];
    chat.say(text.replace("BOT", chat.bot ?? ""), how);
    await telegram.until(() => chat.shown(how).length >= before + shown.length);
    await telegram.during(rookery.settled());
    expect(chat.shown(how).slice(before)).toEqual(shown.map((one) => expect.stringMatching(one)));
    const said = prompts.slice(calls).map((prompt) => prompt.replace(/^<speaker [^>]*\/>\n/u, ""));
    expect(said).toEqual(
      wanted === undefined ? [] : [wanted instanceof RegExp ? expect.stringMatching(wanted) : wanted],
    );
  });

  it.runIf(chat.can.includes("reply"))("stops a run by a reply that says stop", async () => {
    isSlow = true;
    const [calls, before] = [prompts.length, chat.shown("reply").length];
    chat.say("count to a million", "plain");
    await telegram.until(() => prompts.length === calls + 1);
    isSlow = false;
    chat.say("stop", "reply");
    await telegram.until(() => chat.shown("reply").length > before);
    await telegram.during(rookery.settled());
    expect(prompts).toHaveLength(calls + 1);
    expect(chat.shown("reply").slice(before).join()).not.toContain("answer");
  });
});
