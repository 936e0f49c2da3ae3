/**
 * Every way in which text reaches a messenger, over its test server: no messenger is allowed to fetch an address in it unless the owner
 * has turned previews on for that account.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openBaileys } from "../../src/adapters/connectors/whatsapp-web/open-baileys.ts";
import { whatsappWebConnector } from "../../src/adapters/connectors/whatsapp-web/whatsapp-web-connector.ts";
import { createRookery, type Rookery } from "../../src/app/library/create-rookery.ts";
import { virtualClock } from "../../src/app/testing/clock.ts";
import { seededIds } from "../../src/app/testing/ids.ts";
import { recordingLog } from "../../src/app/testing/log.ts";
import { lastText, type ModelCall, type Reply, stall } from "../../src/app/testing/model.ts";
import { scripted } from "../../src/app/testing/scripted.ts";
import { memoryStore } from "../../src/app/testing/store.ts";
import { configSchema } from "../../src/config/config-schema.ts";
import { FakeTelegram } from "../telegram/fake-telegram.ts";
import { FakeWhatsapp } from "../whatsapp/fake-whatsapp.ts";
import { ScriptedPhone } from "../whatsapp-web/scripted-phone.ts";

const LINK = "https://evil.example/?diary=secret";
const GROUP = -100;
const [OWNER, STRANGER] = [7, 99];
const [PHONE, UNKNOWN] = ["4915001", "4915002"];
const TABLE = `| a | b |\n|---|---|\n| ${LINK} | 2 |`;

/** "call NAME JSON" makes the model call a tool, "say TEXT" answers with the text, "wait" works until the test releases it. */
function answers(isReleased: Promise<void>): (call: ModelCall) => Reply | Promise<Reply> {
  return async (call) => {
    const { request } = call;
    if (request.messages.at(-1)?.role === "tool") return `done ${LINK}`;
    const prompt = lastText(request);
    const [, name, json] = /call (\w+) (\{.*\})/su.exec(prompt) ?? [];
    if (name !== undefined) return { call: [{ name, with: JSON.parse(json ?? "{}") }] };
    if (prompt.includes("wait"))
      return stall(
        call,
        isReleased.then(() => `waited ${LINK}`),
      );
    return /say (.*)/su.exec(prompt)?.[1] ?? LINK;
  };
}
const call = (name: string, input: object): string => `call ${name} ${JSON.stringify(input)}`;

describe.each([
  { name: "by default", settings: {}, allowed: false },
  { name: "with linkPreviews", settings: { linkPreviews: true }, allowed: true },
])("link previews $name", ({ settings, allowed }) => {
  const clock = virtualClock();
  const telegram = new FakeTelegram({ clock });
  const whatsapp: FakeWhatsapp = new FakeWhatsapp({
    clock,
    bring: async (request) =>
      (await rookery.fetch(new Request("http://127.0.0.1/channels/whatsapp", { method: "POST", ...request }))).status,
  });
  const phone = new ScriptedPhone();
  const released = Promise.withResolvers<void>();
  let rookery: Rookery;

  beforeAll(async () => {
    await Promise.all([telegram.start(), whatsapp.start(), phone.start()]);
    process.env.FAKE_PHONE = phone.url;
    const scriptedPackage = await import(new URL("../whatsapp-web/scripted-baileys.mjs", import.meta.url).href);
    const { token, appSecret, number: phoneNumberId, url, verifyToken } = whatsapp;
    const parsed = configSchema.parse({ connectors: { "whatsapp-web": settings } }).connectors["whatsapp-web"];
    if (!parsed) throw new TypeError("no settings");
    const ports = { clock, log: recordingLog([]), store: memoryStore(), ids: seededIds("web") };
    const web = whatsappWebConnector({
      ...{ name: "whatsapp-web", settings: parsed, reveal: () => "", ports },
      openWeb: openBaileys(scriptedPackage),
    });
    rookery = await createRookery({
      ...{ home: "memory", clock, connectors: [web] },
      model: scripted(...Array.from({ length: 60 }, () => answers(released.promise))),
      config: {
        connectors: {
          telegram: { ...settings, token: telegram.token, apiRoot: telegram.url },
          whatsapp: { ...settings, token, appSecret, phoneNumberId, apiRoot: url, webhook: { secret: verifyToken } },
        },
        owner: { accounts: [`telegram:${OWNER}`, `whatsapp:${PHONE}`, `whatsapp-web:${PHONE}`] },
      },
    });
    await telegram.until(() => phone.sockets > 0);
    phone.emit(phone.sockets, "connection.update", { connection: "open", me: { id: "4915999:3@s.whatsapp.net" } });
  });
  afterAll(async () => {
    await telegram.during(rookery.close());
    await Promise.all([telegram.close(), whatsapp.close(), phone.close()]);
  });

  it("are not made by Telegram", async () => {
    const texts = () => telegram.calls.filter(({ method }) => /^(?:sendMessage|editMessageText)$/u.test(method));
    const until = async (method: string, text: string) => {
      const found = () => telegram.calls.find((one) => one.method === method && String(one.args.text).includes(text));
      await telegram.until(() => found() !== undefined);
      return found()?.args;
    };
    telegram.say(STRANGER, "let me in");
    await telegram.until(() => telegram.textsTo(STRANGER).length === 1);

    telegram.say(OWNER, `say first ${LINK}`);
    expect(await until("sendMessage", "first")).toMatchObject({ parse_mode: "HTML" });

    const refusal = { code: 400, description: "Bad Request: can't parse entities" };
    telegram.fail("sendMessage", { answer: refusal });
    telegram.say(OWNER, `say plain ${LINK}`);
    await telegram.until(() => telegram.textsTo(OWNER).some((text) => text.includes("plain")));

    telegram.say(OWNER, `say ${TABLE}`);
    await telegram.until(() => telegram.calls.some(({ method }) => method === "sendRichMessage"));
    telegram.fail("sendRichMessage", { answer: { code: 400, description: "Bad Request: no such block" } });
    telegram.say(OWNER, `say Table\n\n${TABLE}`);
    await until("sendMessage", "Table");

    telegram.say(OWNER, call("message", { action: "send", text: `sent ${LINK}` }));
    await until("sendMessage", "sent");
    const messageId = String(telegram.sent.find(({ text }) => text.startsWith("sent"))?.id);
    telegram.say(OWNER, call("message", { action: "edit", messageId, text: `edited ${LINK}` }));
    await until("editMessageText", "edited");

    telegram.say(OWNER, call("ask_user", { question: `Which? ${LINK}`, choices: [`${LINK}&1`, "two"] }));
    await until("sendMessage", "Which?");
    const press = async (text: string, chat?: Record<string, unknown>) => {
      const [asked, before] = [telegram.sent.find((one) => one.text.startsWith(text)), telegram.answered.length];
      const data = /"callback_data":"([^"]+)"/u.exec(JSON.stringify(asked?.args))?.[1] ?? "";
      telegram.press(OWNER, asked?.id ?? 0, data, chat);
      await telegram.until(() => telegram.answered.length > before);
    };
    await press("Which?");

    telegram.sayIn(GROUP, OWNER, "@rook_bot hello");
    await until("sendMessage", "Shall I answer in this group?");
    await press("Shall I answer", { id: GROUP, type: "supergroup", title: "Group" });
    telegram.sayIn(GROUP, OWNER, `@rook_bot wait ${LINK}`);
    await until("sendMessage", "⏳");
    released.resolve();
    await until("sendMessage", "waited");
    await telegram.during(rookery.settled());

    expect(texts().length).toBeGreaterThan(9);
    for (const { args } of texts()) expect(args).toMatchObject({ link_preview_options: { is_disabled: !allowed } });
  });

  it("are not made by WhatsApp", async () => {
    whatsapp.say(UNKNOWN, "let me in");
    await telegram.until(() => whatsapp.textsTo(UNKNOWN).length === 1);
    whatsapp.say(PHONE, `say first ${LINK}`);
    await telegram.until(() => whatsapp.textsTo(PHONE).some((text) => text.includes("first")));
    whatsapp.say(PHONE, call("message", { action: "send", text: `sent ${LINK}` }));
    await telegram.until(() => whatsapp.textsTo(PHONE).some((text) => text.includes("sent")));
    const texts = whatsapp.calls.filter(({ body }) => body.type === "text");
    expect(texts.length).toBeGreaterThan(2);
    for (const { body } of texts) expect(body.text).toMatchObject({ preview_url: allowed });
  });

  it("are never made by WhatsApp Web, where this machine would fetch the address", async () => {
    const say = (from: string, id: string, text: string): void =>
      phone.emit(phone.sockets, "messages.upsert", {
        type: "notify",
        messages: [
          {
            key: { remoteJid: `${from}@s.whatsapp.net`, fromMe: false, id },
            messageTimestamp: Math.floor(clock.now() / 1_000),
            message: { conversation: text },
          },
        ],
      });
    const until = (text: string) => telegram.until(() => phone.sent.some((one) => one.text?.includes(text)));
    say(UNKNOWN, "A1", "let me in");
    await telegram.until(() => phone.sent.some(({ jid }) => jid.startsWith(UNKNOWN)));
    say(PHONE, "A2", `say first ${LINK}`);
    await until("first");
    say(PHONE, "A3", call("message", { action: "send", text: `sent ${LINK}` }));
    await until("sent");
    const messageId = phone.sent.find(({ text }) => text?.startsWith("sent"))?.messageId;
    say(PHONE, "A4", call("message", { action: "edit", messageId, text: `edited ${LINK}` }));
    await until("edited");
    for (const { content } of phone.sent) expect(content).toHaveProperty("linkPreview", null);
  });
});
