/** A bot whose server brings updates to the gateway: the secret, the commit before the answer, and what is brought again. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { seededIds } from "../../../../test/kit/ids.ts";
import { FakeTelegram, person, privateChat } from "../../../../test/telegram/fake-telegram.ts";
import { type Serving, serve } from "../../../app/library/serve.ts";
import { virtualClock } from "../../../app/testing/clock.ts";
import { recordingLog } from "../../../app/testing/log.ts";
import { configSchema } from "../../../config/config-schema.ts";
import { homePaths } from "../../../config/paths.ts";
import type { ConnectorHost } from "../../../core/ports/connector.ts";
import { openMemoryStore } from "../../store/sqlite/open-store.ts";
import { telegramConnector } from "./telegram-connector.ts";

const SECRET = "a-secret_of-the-webhook";
const OWNER = 7;
const home = mkdtempSync(join(tmpdir(), "rookery-telegram-webhook-"));
let fake: FakeTelegram;
let serving: Serving;

beforeAll(async () => {
  fake = await new FakeTelegram({ reach: (url) => url.replace(/^https:\/\/[^/]+/u, serving.gateway.url) }).start();
  const token = "123456:fake-token";
  const webhook = { secret: SECRET };
  const config = configSchema.parse({
    connectors: { work: { kind: "telegram", token, apiRoot: fake.url, webhook } },
    owner: { accounts: [`telegram:${OWNER}`] },
    gateway: { publicUrl: "https://bot.example.org" },
    models: { default: "offline" },
    log: { level: "error" },
  });
  serving = await serve({
    limits: { failuresPerMinute: 5 },
    ...{ paths: homePaths(home), config, env: { ROOKERY_TOKEN: "root-0123456789abcdef" }, port: 0 },
    onFatal: (error: unknown) => {
      throw error;
    },
  });
  await fake.until(() => fake.webhook !== undefined);
});

afterAll(async () => {
  await serving.close();
  await fake.close();
  rmSync(home, { recursive: true, force: true });
});

const updateOf = (text: string, id = fake.takeId()) => ({
  update_id: id,
  message: { message_id: fake.takeMessageId(), date: fake.now(), from: person(OWNER), chat: privateChat(OWNER), text },
});

/** The texts of the owner's conversation. */
async function stored(): Promise<readonly string[]> {
  const { store } = serving.node.ports;
  const [agent] = await store.agents({ limit: 10 });
  const messages = agent ? await store.messages(agent.id, { limit: 100 }) : [];
  return messages.flatMap(({ body }) => (body.kind === "user" ? [body.text] : [])).toReversed();
}

describe("a bot with a webhook", () => {
  it("tells the server the address of its account, with the secret", () => {
    expect(fake.webhooks.at(-1)).toMatchObject({
      url: "https://bot.example.org/channels/work",
      secret_token: SECRET,
      allowed_updates: expect.arrayContaining(["message", "message_reaction"]),
    });
  });

  it("answers what is brought, and confirms each update after it is stored", async () => {
    fake.say(OWNER, "hello");
    await fake.until(() => fake.textsTo(OWNER).length === 1 && fake.pending === 0);
    expect(await stored()).toEqual(["hello"]);
    expect(fake.brought.map(({ status }) => status)).toEqual([200]);
  });

  it("stores an update once that is brought twice", async () => {
    const update = updateOf("twice");
    expect(await fake.bringOnce(update, SECRET)).toBe(200);
    await fake.until(() => fake.textsTo(OWNER).length === 2);
    expect(await fake.bringOnce(update, SECRET)).toBe(200);
    await serving.node.agents.settled();
    expect(await stored()).toEqual(["hello", "twice"]);
  });

  it("refuses what is not signed with the secret, and an account that is not called", async () => {
    expect(await fake.bringOnce(updateOf("forged"), "wrong")).toBe(401);
    expect(await fake.bringOnce(updateOf("forged"), undefined)).toBe(401);
    expect(await fake.bringOnce(updateOf("forged"), SECRET, "https://bot.example.org/channels/other")).toBe(401);
    // Further wrong ones from this address wait; the right secret always passes.
    for (let n = 0; n < 4; n++) await fake.bringOnce(updateOf("forged"), "wrong");
    expect(await fake.bringOnce(updateOf("forged"), "wrong")).toBe(429);
    expect(await fake.bringOnce(updateOf("known"), SECRET)).toBe(200);
    expect(await stored()).toEqual(["hello", "twice", "known"]);
  });
});

const ask = async (method: string, path: string, body?: object): Promise<unknown> => {
  const headers = { authorization: "Bearer root-0123456789abcdef", "content-type": "application/json" };
  const response = await fetch(`${serving.gateway.url}${path}`, {
    method,
    headers,
    body: body && JSON.stringify(body),
  });
  return response.json();
};
const codeIn = (chat: number): string => /(?:code:|\/pair) (\w+)/u.exec(fake.textsTo(chat).at(-1) ?? "")?.[1] ?? "";

describe("people of a bot with a webhook", () => {
  it("the owner has one conversation in Telegram and at the terminal; a guest's is another", async () => {
    const atTerminal = (await ask("POST", "/api/terminal/messages", { text: "from the terminal" })) as {
      agentId: string;
    };
    expect(await stored()).toContain("from the terminal");
    fake.say(50, "hello");
    await fake.until(() => fake.textsTo(50).length === 1);
    await ask("POST", `/api/pairings/${codeIn(50)}`, { answer: "yes", as: "ann" });
    fake.say(50, "I am Ann");
    await fake.until(() => fake.textsTo(50).length === 2);
    const { store } = serving.node.ports;
    const ann = (await store.agents({ limit: 10 })).find(({ sessionKey }) => sessionKey.includes("dm:50"));
    expect(ann?.id).toBeDefined();
    expect(ann?.id).not.toBe(atTerminal.agentId);
  });

  it("what was said in a group before a mention is in the prompt", async () => {
    fake.sayIn(-500, OWNER, "@rook_bot hi");
    await fake.until(() => fake.textsTo(-500).length === 1);
    await ask("POST", `/api/pairings/${codeIn(-500)}`, { answer: "yes", as: "friends" });
    fake.sayIn(-500, 61, "the red one");
    fake.sayIn(-500, 62, "no, the blue one");
    await fake.until(() => fake.pending === 0);
    fake.sayIn(-500, 63, "@rook_bot which one?");
    await fake.until(() => fake.textsTo(-500).length === 2);
    const { store } = serving.node.ports;
    const group = (await store.agents({ limit: 10 })).find(({ sessionKey }) => sessionKey.includes("group"));
    const [message] = group ? await store.messages(group.id, { limit: 1 }) : [];
    const text = message?.body.kind === "user" ? message.body.text : "";
    for (const said of ["Person 61: the red one", "Person 62: no, the blue one"]) expect(text).toContain(said);
  });

  it("who is forgotten is a stranger again", async () => {
    await ask("DELETE", "/api/people/ann/data");
    fake.say(50, "do you know me?");
    await fake.until(() => fake.textsTo(50).length === 3);
    expect(fake.textsTo(50).at(-1)).toContain("I do not know you yet");
    expect(
      (await serving.node.ports.store.agents({ limit: 10 })).some(({ sessionKey }) => sessionKey.includes("dm:50")),
    ).toBe(false);
  });
});

/** The connector alone, with a host that the test plays and a clock that it moves. */
async function alone(host: Partial<ConnectorHost> = {}, url = "https://bot.example.org/channels/telegram") {
  const own = await new FakeTelegram().start();
  const settings = configSchema.parse({ connectors: { telegram: { token: "x", apiRoot: own.url } } }).connectors
    .telegram;
  if (!settings) throw new TypeError("no settings");
  const clock = virtualClock();
  const connector = telegramConnector({
    ...{ name: "telegram", settings, token: own.token, reveal: () => "", webhook: { url, secret: SECRET } },
    ports: { clock, log: recordingLog([]), store: openMemoryStore(), ids: seededIds("bot") } as never,
  });
  const taken: string[] = [];
  const given: ConnectorHost = {
    async accept({ text }) {
      taken.push(text);
      return { status: "accepted", agentId: "a" as never, messageId: "a:1" as never };
    },
    command: async () => ({ status: "stale" }),
    ...host,
  };
  const bring = (body: unknown, secret = SECRET, method: "GET" | "POST" = "POST") =>
    connector.receive?.(
      {
        ...{ account: "telegram", method, query: {}, raw: Buffer.from(JSON.stringify(body)) },
        header: (name) => (name === "x-telegram-bot-api-secret-token" ? secret : undefined),
      },
      given,
    );
  const close = async (): Promise<void> => {
    await connector.stop();
    await own.close();
  };
  return { own, clock, connector, given, taken, bring, close };
}

const message = (id: number, text: string, chat = 5) => ({
  update_id: id,
  message: { message_id: id, date: 1_800_000_000, from: person(chat), chat: privateChat(chat), text },
});

describe("a request with an update", () => {
  it("is answered 503 while the store is away, so that it is brought again", async () => {
    let broken = true;
    const accept = async () => {
      if (broken) throw Object.assign(new TypeError("away"), { retryable: true });
      return { status: "accepted", agentId: "a", messageId: "a:1" } as never;
    };
    const { bring, close } = await alone({ accept });
    expect((await bring(message(1, "x")))?.status).toBe(503);
    broken = false;
    expect((await bring(message(1, "x")))?.status).toBe(200);
    await close();
  });

  it("is taken before the account has started, as on a node that does not run it", async () => {
    const { own, bring, taken, close } = await alone();
    expect((await bring(message(1, "anywhere")))?.status).toBe(200);
    expect(taken).toEqual(["anywhere"]);
    expect(own.webhooks).toEqual([]);
    await close();
  });

  it.each([
    ["the wrong secret", message(1, "x"), "wrong", "POST", 401],
    ["another method", message(1, "x"), SECRET, "GET", 405],
    ["a body that is no update", { hello: 1 }, SECRET, "POST", 400],
    ["an update of a form that nobody knows", { update_id: 1, message: { chat: 7 } }, SECRET, "POST", 200],
  ] as const)("with %s is refused or skipped", async (_, body, secret, method, status) => {
    const { bring, taken, close } = await alone();
    expect((await bring(body, secret, method))?.status).toBe(status);
    expect(taken).toEqual([]);
    await close();
  });

  it("waits for the one before it in the same chat, and for none of another", async () => {
    const gate = Promise.withResolvers<void>();
    const seen: string[] = [];
    const accept = async ({ text }: { text: string }) => {
      if (text === "first") await gate.promise;
      seen.push(text);
      return { status: "accepted", agentId: "a", messageId: "a:1" } as never;
    };
    const { bring, close } = await alone({ accept });
    const both = [bring(message(1, "first")), bring(message(2, "second"))];
    await bring(message(3, "other chat", 6));
    gate.resolve();
    await Promise.all(both);
    expect(seen).toEqual(["other chat", "first", "second"]);
    await close();
  });
});

describe("the watch over a webhook", () => {
  it("shows that the server cannot reach the gateway, and sets a webhook again that another program took", async () => {
    const { own, clock, connector, given, close } = await alone({}, "https://127.0.0.1:1/channels/telegram");
    await connector.start(given);
    expect(connector.health().ok).toBe(true);
    const look = async (): Promise<void> => {
      const before = own.calls.filter(({ method }) => method === "getWebhookInfo").length;
      await clock.advance(60_000);
      await own.until(() => own.calls.filter(({ method }) => method === "getWebhookInfo").length > before);
      await clock.advance(0, () => new Promise((resolve) => setTimeout(resolve, 20)));
    };
    own.push({ message: message(1, "x").message });
    await own.until(() => own.brought.length > 0);
    await look();
    expect(connector.health()).toMatchObject({ ok: false, detail: expect.stringContaining("cannot bring 1 updates") });
    own.webhook = { url: "https://thief.example", secret: "s" };
    await look();
    expect(connector.health().detail).toContain("another program");
    await own.until(() => own.webhook?.url === "https://127.0.0.1:1/channels/telegram");
    await close();
  });

  it("says what is wrong with an address that the server does not take", async () => {
    const { connector, given, close } = await alone({}, "http://plain.example/channels/telegram");
    await expect(connector.start(given)).rejects.toThrow("does not take http://plain.example");
    await close();
  });
});
