/** The contract kit against our own connectors: Telegram, webhooks, standard input. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, describe, expect, it } from "vitest";
import { FakeTelegram, person, privateChat } from "../../../test/telegram/fake-telegram.ts";
import { stdinConnector } from "../../adapters/connectors/stdin/stdin-connector.ts";
import { telegramConnector } from "../../adapters/connectors/telegram/telegram-connector.ts";
import { webhookConnector } from "../../adapters/connectors/webhook/webhook-connector.ts";
import { httpPost } from "../../adapters/system/http-post.ts";
import { systemClock } from "../../adapters/system/system-clock.ts";
import { configSchema } from "../../config/config-schema.ts";
import type { Connector } from "../../core/ports/connector.ts";
import { type ConnectorPlatform, connectorKit } from "./connector-kit.ts";
import { recordingLog } from "./log.ts";

const closing: (() => Promise<unknown> | unknown)[] = [];
afterAll(async () => {
  for (const close of closing) await close();
});

async function telegram(): Promise<ConnectorPlatform> {
  const fake = await new FakeTelegram().start();
  closing.push(() => fake.close());
  const settings = configSchema.parse({ connectors: { telegram: { token: "x", apiRoot: fake.url, pollSeconds: 1 } } })
    .connectors.telegram;
  if (!settings) throw new TypeError("no settings");
  const ports = { clock: systemClock, log: recordingLog([]) } as unknown as Parameters<
    typeof telegramConnector
  >[0]["ports"];
  let user = 500;
  return {
    connector: () => telegramConnector({ name: "telegram", settings, token: fake.token, reveal: () => "", ports }),
    say: (text) => fake.say(++user, text),
    sayAgain: (id) =>
      void fake.push({
        message: {
          message_id: id,
          date: fake.now(),
          from: person(user),
          chat: privateChat(user),
          text: "hello from the kit",
        },
      }),
    isAcknowledged: () => fake.pending === 0,
    settled: () => new Promise((resolve) => setTimeout(resolve, 1_200)),
    target: { channel: "telegram", to: "900" },
    shown: () => fake.sent.map(({ text }) => text),
    failNext(how) {
      if (how === "not-sent") fake.fail("sendMessage", { cut: "before" });
      else if (how === "lost-answer") fake.fail("sendMessage", { cut: "after" });
      else if (how === "refused")
        fake.fail("sendMessage", { answer: { code: 403, description: "Forbidden: bot was blocked by the user" } });
      else
        fake.fail("sendMessage", {
          answer: { code: 429, description: "Too Many Requests", parameters: { retry_after: 1 } },
        });
    },
  };
}

async function webhook(): Promise<ConnectorPlatform> {
  const seen = new Map<string, string>();
  let next: string | undefined;
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    const how = next;
    next = undefined;
    if (how === "not-sent") return void request.socket.destroy();
    if (how === "refused" || how === "rate") return void response.writeHead(how === "rate" ? 429 : 400).end();
    const { id, text } = JSON.parse(body) as { id: string; text: string };
    seen.set(id, text);
    if (how === "lost-answer") request.socket.destroy();
    else response.writeHead(204).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closing.push(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const targets = new Map([["shop", { url, secret: () => "s", users: ["ann"], owner: false, profiles: [] }]]);
  return {
    connector: () => webhookConnector({ clock: systemClock, post: httpPost, targets: () => targets }),
    target: { channel: "webhook", accountId: "shop", to: "ann" },
    shown: () => [...seen.values()],
    failNext(how) {
      next = how;
    },
  };
}

function terminal(): ConnectorPlatform {
  const printed: string[] = [];
  const waiting: ((line: string | undefined) => void)[] = [];
  async function* input(): AsyncGenerator<string> {
    for (;;) {
      const line = await new Promise<string | undefined>((resolve) => waiting.push(resolve));
      if (line === undefined) return;
      yield `${line}\n`;
    }
  }
  return {
    connector: (): Connector =>
      stdinConnector({
        ...{ input: input(), user: "owner", lines: true, errors: { write: () => true } },
        output: { write: (text: string) => printed.push(text) },
      }) as Connector,
    target: { channel: "terminal", to: "owner" },
    shown: () => printed,
  };
}

describe.each([
  ["Telegram", telegram],
  ["webhooks", webhook],
  ["standard input", async () => terminal()],
] as const)("the connector to %s", (_, platform) => {
  it.each(connectorKit(platform).map((one) => [one.name, one] as const))("%s", async (__, one) => {
    await expect(one.run()).resolves.toBeUndefined();
  });
});

describe("the kit", () => {
  const broken = (more: Partial<Connector>): Connector => ({
    name: "chat",
    capabilities: { sendText: true },
    sendingClass: "ambiguous",
    start: async () => {},
    stop: async () => {},
    health: () => ({ ok: true, detail: "" }),
    send: async () => ({ status: "sent" }),
    ...more,
  });
  it.each([
    ["sends again by itself", { send: async () => ({ status: "retry", reason: "" }) as const }, "ended retry"],
    ["throws", { send: async () => Promise.reject(new TypeError("x")) }, "throws"],
  ])("finds a connector that %s", async (_, more, problem) => {
    const kit = connectorKit(() => ({
      connector: () => broken(more),
      target: { channel: "chat", to: "1" },
      shown: () => ["a plain text"],
      failNext: () => {},
    }));
    const results = await Promise.allSettled(kit.map((one) => one.run()));
    expect(results.map((one) => (one.status === "rejected" ? String(one.reason) : "")).join("\n")).toContain(problem);
  });
});
