/** The contract kit against our own connectors: Telegram, webhooks, standard input. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, describe, expect, it } from "vitest";
import { FakeTelegram, GONE_THREAD, type Json, person, privateChat } from "../../../test/telegram/fake-telegram.ts";
import { stdinConnector } from "../../adapters/connectors/stdin/stdin-connector.ts";
import { draftIdOf } from "../../adapters/connectors/telegram/draft-view.ts";
import { telegramConnector } from "../../adapters/connectors/telegram/telegram-connector.ts";
import { webhookConnector } from "../../adapters/connectors/webhook/webhook-connector.ts";
import { openMemoryStore } from "../../adapters/store/sqlite/open-store.ts";
import { httpPost } from "../../adapters/system/http-post.ts";
import { systemClock } from "../../adapters/system/system-clock.ts";
import { configSchema } from "../../config/config-schema.ts";
import { apiMailbox } from "../../core/delivery/route.ts";
import { StoreUnavailableError } from "../../core/errors.ts";
import type { Connector, ConnectorHost } from "../../core/ports/connector.ts";
import { RestartingGateway } from "../gateway/restarting.test-kit.ts";
import { virtualClock } from "./clock.ts";
import { type ConnectorPlatform, connectorKit } from "./connector-kit.ts";
import { seededIds } from "./ids.ts";
import { recordingLog } from "./log.ts";

const closing: (() => Promise<unknown> | unknown)[] = [];
afterAll(async () => {
  for (const close of closing) await close();
});

async function telegram(): Promise<ConnectorPlatform> {
  const clock = virtualClock();
  const fake = await new FakeTelegram({ clock }).start();
  closing.push(() => fake.close());
  const settings = configSchema.parse({ connectors: { telegram: { token: "x", apiRoot: fake.url } } }).connectors
    .telegram;
  if (!settings) throw new TypeError("no settings");
  const ports = { clock, log: recordingLog([]), store: openMemoryStore(), ids: seededIds("kit") };
  let user = 500;
  const wait = async (ms: number): Promise<void> => {
    for (let left = ms; left > 0; left -= 100) {
      await clock.advance(Math.min(left, 100), () => new Promise((resolve) => setImmediate(resolve)));
    }
    await new Promise((resolve) => setTimeout(resolve, 2));
  };
  const part = (text: string): Json => ({
    message: {
      ...{ message_id: fake.takeMessageId(), date: fake.now(), from: person(user), chat: privateChat(user) },
      ...{
        media_group_id: "album",
        photo: [{ file_id: "x", file_unique_id: "x", width: 1, height: 1 }],
        caption: text,
      },
    },
  });
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
    edit: (id, text) => fake.edit(user, id as number, text),
    async sayParts(first, second) {
      fake.push(part(first));
      while (fake.pending > 0) await wait(10);
      fake.push(part(second));
    },
    pressStop: (runId) => fake.pressStop(user, draftIdOf(runId)),
    isAcknowledged: () => fake.pending === 0,
    settled: async () => {
      for (let n = 0; n < 20; n++) await wait(50);
    },
    wait,
    target: { channel: "telegram", to: "900" },
    goneThread: { channel: "telegram", to: "901", threadId: GONE_THREAD },
    previews: () => fake.drafts.length,
    shown: () => fake.sent.map(({ text }) => text),
    failNext(how) {
      if (how === "not-sent") fake.fail("sendMessage", { cut: "before" });
      else if (how === "lost-answer") fake.fail("sendMessage", { cut: "after" });
      else if (how === "form")
        fake.fail("sendRichMessage", { answer: { code: 400, description: "Bad Request: RICH_MESSAGE_INVALID" } });
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
    if (how === "refused" || how === "rate" || how === "form")
      return void response.writeHead(how === "rate" ? 429 : 400).end();
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
    connector: (): Connector => {
      const made = stdinConnector({
        ...{ input: input(), user: "owner", lines: true, errors: { write: () => true } },
        output: { write: (text: string) => printed.push(text) },
      });
      made.finished.catch(() => undefined);
      return made as Connector;
    },
    // A pipe never repeats a line.
    async say(text) {
      while (waiting.length === 0) await new Promise((resolve) => setImmediate(resolve));
      waiting.shift()?.(text);
    },
    target: { channel: "terminal", to: "owner" },
    shown: () => printed,
  };
}

/**
 * The API has no connector of its own: the gateway accepts, and a mailbox shows. Here a client posts with a key, as a program does that
 * posts again until it is answered, and a connector tells the kit what the engine has stored.
 */
async function api(): Promise<ConnectorPlatform> {
  const kit = await RestartingGateway.open();
  closing.push(() => kit.close());
  const shown: string[] = [];
  let posted: { key: string; text: string; isTaken: boolean } | undefined;
  let keys = 0;
  let host: ConnectorHost | undefined;
  const told = new Set<string>();
  const { commit } = kit.store;
  const ask = (text: string, key: string) =>
    kit.ask({
      ...{ method: "POST", path: "/api/agents/agent:main:api:dm:eve/messages", body: { text } },
      headers: { "idempotency-key": key },
    });
  const post = async (): Promise<void> => {
    if (!posted || posted.isTaken) return;
    const isBroken = (host as { broken?: boolean } | undefined)?.broken === true;
    kit.store.commit = isBroken
      ? () => Promise.reject(new StoreUnavailableError("The store does not answer."))
      : commit;
    const { status } = await ask(posted.text, posted.key);
    kit.store.commit = commit;
    posted.isTaken = status < 300;
    await report();
  };
  /** Passes each stored message to the host of the kit, once. */
  const report = async (): Promise<void> => {
    for (const agent of await kit.store.agents({ limit: 10 })) {
      for (const { seq, body } of (await kit.store.messages(agent.id, { limit: 100 })).toReversed()) {
        if (told.has(`${agent.id}/${seq}`) || !host) continue;
        told.add(`${agent.id}/${seq}`);
        const place = {
          connector: "api",
          userId: "eve",
          channelId: "eve",
          messageId: String(seq),
          delivery: {},
        } as const;
        if (body.kind === "user") await host.accept({ ...place, text: body.text });
        else await host.command({ ...place, command: { name: "chat", command: body.kind, text: "" } });
      }
    }
  };
  return {
    connector: () => ({
      name: "api",
      capabilities: { sendText: true },
      sendingClass: "idempotent",
      async start(given) {
        host = given;
      },
      async stop() {},
      health: () => ({ ok: true, detail: "" }),
      async send({ id, payload }, signal) {
        if (signal.aborted) return { status: "retry", reason: "aborted" };
        // The agent echoes the text: its answer waits in the mailbox.
        await ask(payload.text ?? "", id);
        await kit.engine.settle();
        const { json } = await kit.ask({ path: "/api/deliveries?user=eve" });
        shown.splice(0, shown.length, ...(json.items as readonly object[]).map((item) => JSON.stringify(item)));
        return { status: "sent" };
      },
    }),
    async say(text) {
      posted = { key: `kit-${++keys}`, text, isTaken: false };
      await post();
      return posted;
    },
    async sayAgain(said) {
      posted = { ...(said as typeof posted & object), isTaken: false };
      await post();
    },
    isAcknowledged: () => posted?.isTaken === true,
    // A token says who writes.
    strangers: false,
    async wait() {
      await new Promise((resolve) => setTimeout(resolve, 1));
      await post();
    },
    target: apiMailbox("eve"),
    shown: () => shown,
  };
}

describe.each([
  ["Telegram", telegram],
  ["webhooks", webhook],
  ["standard input", async () => terminal()],
  ["the API", api],
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
      // No part of it needs time.
      wait: () => new Promise((resolve) => setImmediate(resolve)),
    }));
    const results = await Promise.allSettled(kit.map((one) => one.run()));
    expect(results.map((one) => (one.status === "rejected" ? String(one.reason) : "")).join("\n")).toContain(problem);
  });
});
