/**
 * Calls that try to look like other calls in the question about them (M44). The whole engine, Telegram and WhatsApp at their servers,
 * WhatsApp Web at its port, and `/approve`: each shows what runs, in full and as it is, or offers no yes.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { webWorld } from "../../src/adapters/connectors/whatsapp-web/whatsapp-web.test-kit.ts";
import { createRookery, type Rookery } from "../../src/app/library/create-rookery.ts";
import { virtualClock } from "../../src/app/testing/clock.ts";
import { lastText, type ModelCall, type Reply } from "../../src/app/testing/model.ts";
import { scripted } from "../../src/app/testing/scripted.ts";
import type { DeliveryId } from "../../src/core/ids.ts";
import { FakeTelegram } from "../telegram/fake-telegram.ts";
import { FakeWhatsapp } from "../whatsapp/fake-whatsapp.ts";
import { HIDDEN, HOSTILE_CALLS, type HostileCall } from "./hostile-calls.ts";

const [TELEGRAM_OWNER, WHATSAPP_OWNER] = [7, "4915001"] as const;
const clock = virtualClock();
const telegram = new FakeTelegram({ clock });
const whatsapp = new FakeWhatsapp({ clock, statuses: true, bring: (request) => bring(request) });
let rookery: Rookery;
let last = "";

const bring = async (request: { body: string; headers: Record<string, string> }): Promise<number> =>
  (await rookery.fetch(new Request("http://127.0.0.1/channels/whatsapp", { method: "POST", ...request }))).status;

/** "call N" makes the model do the N-th call; the result of a tool ends the turn. */
function script({ request }: ModelCall): Reply {
  if (request.messages.at(-1)?.role === "tool") {
    last = lastText(request, "tool");
    return "done";
  }
  const [, n, json] = /call (?:(\d+)|(\{.*\}))/u.exec(lastText(request)) ?? [];
  return {
    call: [{ name: "exec", with: n === undefined ? JSON.parse(json ?? "{}") : (HOSTILE_CALLS[Number(n)]?.with ?? {}) }],
  };
}

beforeAll(async () => {
  await telegram.start();
  const { token, appSecret, verifyToken, number, url } = await whatsapp.start();
  rookery = await createRookery({
    home: "memory",
    clock,
    model: scripted(...Array.from({ length: 300 }, () => script)),
    config: {
      connectors: {
        telegram: {
          token: "123456:fake-token",
          apiRoot: telegram.url,
          drafts: false,
          reactions: false,
        },
        whatsapp: { token, appSecret, apiRoot: url, webhook: { secret: verifyToken }, phoneNumberId: number },
      },
      owner: { accounts: [`telegram:${TELEGRAM_OWNER}`, `whatsapp:${WHATSAPP_OWNER}`] },
      permissions: { ask: ["exec"] },
    },
  });
});
afterAll(async () => {
  await telegram.during(rookery.close());
  await Promise.all([telegram.close(), whatsapp.close()]);
});

afterEach(async () => {
  for (const { id } of await pending()) await telegram.during(rookery.approvals.no(id));
  await telegram.during(rookery.settled());
});

const pending = async () => (await rookery.approvals.list()).items;

interface Seen {
  /** The text of the message as its reader gets it, without our own markup. */
  readonly text: string;
  /** The part of it that is code. */
  readonly code: string;
  readonly labels: readonly string[];
}

const ENTITIES: Readonly<Record<string, string>> = { "&lt;": "<", "&gt;": ">", "&amp;": "&" };
const decoded = (html: string): string => html.replaceAll(/&(?:lt|gt|amp);/gu, (one) => ENTITIES[one] ?? "");

/** Telegram gets HTML: the whole call is in one `pre`, the only tag. */
async function seenInTelegram(from: number, part: string): Promise<Seen> {
  const find = () => telegram.sent.slice(from).find(({ text }) => text.includes(part));
  await telegram.until(() => find() !== undefined);
  const message = find();
  const html = String(message?.args.text);
  expect(message?.args.parse_mode).toBe("HTML");
  expect(html.replace(/<\/?pre>/gu, "")).not.toMatch(/[<>]/u);
  const markup = message?.args.reply_markup as { inline_keyboard: { text: string }[][] } | undefined;
  const code = decoded(/<pre>([\s\S]*)<\/pre>/u.exec(html)?.[1] ?? "");
  return { text: decoded(html), code, labels: markup?.inline_keyboard.flat().map(({ text }) => text) ?? [] };
}

const codeIn = (text: string): string => /```\n([\s\S]*?)\n```/u.exec(text)?.[1] ?? "";

/** The lines that are not of the call. */
const OWN_LINE =
  /^(?:exec$|The agent asks for owner: |It (?:works in|changes|may use:) |No file is covered: |The contents of )/u;

/** A question shows the whole call as code and has a yes, or no part of it and has none. */
function expectHonest({ text, code, labels }: Seen, { shows }: HostileCall, id: string): void {
  expect(text).not.toMatch(HIDDEN);
  if (shows === undefined) {
    expect([code, labels]).toEqual(["", ["No"]]);
    expect(text).toContain(`"rookery approvals show ${id}"`);
    expect(text).not.toContain("xxxx");
    return;
  }
  const begins = `exec\n  command:${shows.startsWith("\n") ? "" : " "}${shows}`;
  expect(code.slice(0, begins.length)).toBe(begins);
  expect(code.split("\n").filter((line) => !line.startsWith("  ") && !OWN_LINE.test(line))).toEqual([]);
  expect(labels[0]).toBe("Yes, once");
}

const web = webWorld();
let sentOverWeb = 0;

/** The same delivery as a phone with WhatsApp Web shows it. */
async function seenOverWeb(id: string): Promise<string> {
  await telegram.during(rookery.settled());
  const { items } = await rookery.outbox.list({ state: "sent", limit: 500 });
  const { payload, target } = items.find((one) => one.payload.text?.includes(`Approval ${id} `)) ?? {};
  const { one } = await web.opened();
  await one.send(
    { id: `web.${++sentOverWeb}` as DeliveryId, target: { ...target, to: WHATSAPP_OWNER }, payload: payload ?? {} },
    new AbortController().signal,
  );
  await one.stop();
  return String([...web.fake.shown.values()].at(-1)?.content.text);
}

describe.each(HOSTILE_CALLS.map((call, n) => ({ ...call, n })))("$title", (call) => {
  it("is shown as it is in Telegram, WhatsApp Web and the list of /approve", async () => {
    const from = telegram.sent.length;
    telegram.say(TELEGRAM_OWNER, `call ${call.n}`);
    await telegram.until(() => telegram.pending === 0);
    await telegram.during(rookery.settled());
    const [{ id } = { id: "" }] = await pending();
    const seen = await seenInTelegram(from, `Approval ${id} `);
    expectHonest(seen, call, id);
    const text = await seenOverWeb(id);
    expectHonest({ text, code: codeIn(text), labels: seen.labels }, call, id);
    const before = telegram.sent.length;
    telegram.say(TELEGRAM_OWNER, "/approve");
    const listed = await seenInTelegram(before, `${id}:`);
    expectHonest({ ...listed, labels: seen.labels }, call, id);
    const answered = telegram.sent.length;
    await rookery.approvals.no(id);
    await telegram.until(() => telegram.sent.slice(answered).some(({ text }) => text === "done"));
  });

  it("is shown as it is in WhatsApp", async () => {
    const from = whatsapp.sent.length;
    whatsapp.say(WHATSAPP_OWNER, `call ${call.n}`);
    await whatsapp.until(() => whatsapp.pending === 0);
    await whatsapp.during(rookery.settled());
    const [{ id } = { id: "" }] = await pending();
    const find = () => whatsapp.sent.slice(from).find(({ text }) => text.includes(`Approval ${id} `));
    await whatsapp.until(() => find() !== undefined);
    const { text = "", buttons = [] } = find() ?? {};
    expectHonest({ text, code: codeIn(text), labels: buttons.map(({ title }) => title) }, call, id);
    const answered = whatsapp.sent.length;
    await rookery.approvals.no(id);
    await whatsapp.until(() => whatsapp.sent.slice(answered).some(({ text }) => text === "done"));
  });
});

it.each([
  { command: 5 },
  { command: "ls", timeoutSeconds: "soon" },
  { cwd: "." },
  { command: [] },
  { aaa: "x".repeat(5_000), command: "rm -rf x" },
])("does not ask about %j, which exec refuses", async (given) => {
  last = "";
  const from = telegram.sent.length;
  telegram.say(TELEGRAM_OWNER, `call ${JSON.stringify(given)}`);
  await telegram.until(() => telegram.sent.slice(from).some(({ text }) => text === "done") && last !== "");
  expect(last).toContain("Invalid arguments for exec");
  expect(telegram.sent.slice(from)).toHaveLength(1);
  expect(await pending()).toEqual([]);
});
