/** One account of a program, without an engine: which requests it takes, and what it posts. */
import { afterAll, beforeAll, describe, expect, it, test } from "vitest";
import { FakeProgram } from "../../../../test/webhook/fake-program.ts";
import { channelRequest } from "../../../../test/whatsapp/to-receive.ts";
import { virtualClock } from "../../../app/testing/clock.ts";
import { MemoryHost } from "../../../app/testing/kit/kit-case.ts";
import { type LogLine, recordingLog } from "../../../app/testing/log.ts";
import { configSchema } from "../../../config/config-schema.ts";
import type { Payload } from "../../../core/delivery/delivery.ts";
import { ConfigError } from "../../../core/errors.ts";
import { webhookAccount } from "./webhook-account.ts";
import { WEBHOOK } from "./webhook-kind.ts";

const clock = virtualClock();
let fake: FakeProgram;
beforeAll(async () => {
  fake = await new FakeProgram({ clock }).start();
});
afterAll(() => fake.close());

function opened(more: object = {}, secret = () => fake.secret) {
  const entry = { sendUrl: fake.url, webhook: { secret: "x" }, ...more };
  const settings = configSchema.parse({ connectors: { webhook: entry } }).connectors.webhook;
  if (!settings) throw new TypeError("no settings");
  const lines: LogLine[] = [];
  const ports = { clock, log: recordingLog(lines) } as never;
  const options = { name: "webhook", accountId: "door", settings, sendUrl: fake.url, reveal: () => "", ports };
  const one = webhookAccount({ ...options, secret });
  const stored: string[] = [];
  const files = {
    maxBytes: 1_000_000,
    async put({ data, name = "" }: { readonly data: Uint8Array; readonly name?: string }) {
      stored.push(`${name}: ${data.length}`);
      return { id: "file_1", name, mimeType: "text/plain", size: data.length, as: "reference" } as const;
    },
    read: async ({ id }: { readonly id: string }) => (id === "file_gone" ? undefined : Buffer.from("bytes")),
  };
  const host = Object.assign(new MemoryHost(), { files });
  const bring = async (message: object, at?: number, method: "GET" | "POST" = "POST") => {
    const body = JSON.stringify(message);
    const request = channelRequest("webhook", { body, headers: fake.signed(body, at) });
    return one.receive?.({ ...request, method }, host);
  };
  const send = (payload: Payload, id: string) =>
    one.send({ id: id as never, target: { to: "ann", threadId: "t1" }, payload }, new AbortController().signal);
  return { one, host, lines, stored, bring, send };
}

const seconds = (): number => Math.floor(clock.now() / 1_000);

describe("a request", () => {
  test.each([
    ["now", () => seconds(), "POST", 200],
    ["five minutes ago", () => seconds() - 300, "POST", 200],
    ["longer ago", () => seconds() - 301, "POST", 401],
    ["in five minutes", () => seconds() + 300, "POST", 200],
    ["later", () => seconds() + 301, "POST", 401],
    ["at a time that is none", () => Number.NaN, "POST", 401],
    ["now, which only asks", () => seconds(), "GET", 405],
    ["long ago, which only asks", () => seconds() - 301, "GET", 401],
  ] as const)("signed %s", async (_, at, method, status) => {
    const { bring, host } = opened();
    expect((await bring({ id: "m1", from: "ann", text: "hi" }, at(), method))?.status).toBe(status);
    expect(host.messages).toHaveLength(status === 200 ? 1 : 0);
  });

  it("is answered in JSON, and the message has the address of the account", async () => {
    const { bring, host } = opened();
    const message = { id: "m1", from: "ann", text: "hi", chat: "room", thread: "t1" };
    const answer = await bring(message);
    expect([answer?.text, answer?.type]).toEqual(['{"status":"accepted"}\n', "application/json; charset=utf-8"]);
    expect((await bring(message))?.text).toBe('{"status":"duplicate"}\n');
    expect(host.messages).toMatchObject([
      {
        ...{ connector: "webhook", accountId: "door", userId: "ann", channelId: "room", messageId: "m1" },
        delivery: { channel: "webhook", accountId: "door", to: "room", threadId: "t1" },
      },
    ]);
  });

  it("is not answered before it is stored", async () => {
    const { bring, host } = opened();
    host.broken = true;
    await expect(bring({ id: "m1", from: "ann", text: "hi" })).rejects.toThrow("does not answer");
  });

  it("waits for the one before it in the same chat, and for none of another", async () => {
    const { bring, host } = opened();
    const gate = Promise.withResolvers<void>();
    const accept = host.accept.bind(host);
    host.accept = async (message) => {
      if (message.messageId === "m1") await gate.promise;
      return accept(message);
    };
    const say = (id: string, from: string, chat: string) => bring({ id, from, chat, text: id });
    const held = [say("m1", "ann", "room"), say("m2", "bob", "room")];
    await say("m3", "ann", "hall");
    gate.resolve();
    await Promise.all(held);
    expect(host.messages.map(({ messageId }) => messageId)).toEqual(["m3", "m1", "m2"]);
  });

  test.each([
    [1_000_000, "a.bin: 1000000", ""],
    [1_000_001, undefined, "it is larger than 1000000 bytes"],
  ])("with a file of %i bytes", async (length, kept, note) => {
    const { bring, host, stored } = opened();
    const files = [{ name: "a.bin", data: Buffer.alloc(length).toString("base64") }];
    await bring({ id: "m1", from: "ann", files });
    expect(stored).toEqual(kept === undefined ? [] : [kept]);
    expect(host.prompts[0]).toContain(note);
  });

  it("of a stranger is answered, and the stranger is told once, under the id of the message", async () => {
    const { bring, host } = opened();
    host.closed = true;
    expect((await bring({ id: "s1", from: "eve", chat: "hall", text: "let me in" }))?.text).toBe(
      '{"status":"refused"}\n',
    );
    await fake.until(() => fake.shown.has("say-s1"));
    expect(fake.shown.get("say-s1")).toEqual({ id: "say-s1", to: "hall", text: "I do not know you yet." });
  });

  it("of a stranger who cannot be told is not repeated", async () => {
    const { bring, host, lines } = opened();
    host.closed = true;
    const before = fake.requests;
    fake.faults.push(500);
    await bring({ id: "s2", from: "eve", text: "let me in" });
    await fake.until(() => lines.length === 1);
    expect(lines[0]?.fields).toMatchObject({ account: "webhook", reason: "answered 500" });
    expect([fake.requests - before, fake.shown.has("say-s2")]).toEqual([1, false]);
  });
});

describe("a delivery", () => {
  it("is posted with its place, and what it answers", async () => {
    const { send } = opened();
    expect(await send({ text: "hi", replyToId: "m1", isError: true }, "d.1")).toEqual({ status: "sent" });
    expect(fake.shown.get("d.1")).toEqual({
      ...{ id: "d.1", to: "ann", thread: "t1", text: "hi", replyTo: "m1", isError: true },
    });
  });

  it("has the content of its files, and names one that is gone", async () => {
    const { one, host, send } = opened();
    await one.start(host);
    const file = (name: string) => ({ id: `file_${name}`, name, mimeType: "text/plain", size: 5 }) as const;
    await send({ files: [file("here"), file("gone")] }, "d.2");
    expect(fake.shown.get("d.2")?.files).toEqual([
      { name: "here", mimeType: "text/plain", data: Buffer.from("bytes").toString("base64") },
      { name: "gone", mimeType: "text/plain" },
    ]);
  });

  it("that changes a message is refused, and nothing is posted", async () => {
    const { send } = opened();
    const before = fake.requests;
    const result = await send({ action: { do: "delete", messageId: "m1" } }, "d.3");
    expect(result).toMatchObject({ status: "refused", tell: true });
    expect(fake.requests).toBe(before);
  });

  it("that fails is shown in the health until one arrives, and is remembered after", async () => {
    const { one, send } = opened();
    expect(one.health()).toMatchObject({ ok: true, detail: fake.url, lastError: undefined });
    fake.faults.push(503);
    await send({ text: "x" }, "d.4");
    const lastError = { at: clock.now(), text: "answered 503" };
    expect(one.health()).toEqual({ ok: false, detail: "answered 503", lastError });
    await send({ text: "x" }, "d.4");
    expect(one.health()).toEqual({ ok: true, detail: fake.url, lastError });
  });
});

describe("an account", () => {
  it("does not start without its secret", async () => {
    const { one, host } = opened({}, () => {
      throw new ConfigError("A secret is missing.");
    });
    await expect(one.start(host)).rejects.toThrow("A secret is missing.");
  });

  test.each([
    ["sendUrl", { webhook: { secret: "x" } }],
    ["webhook.secret", { sendUrl: "http://127.0.0.1:1/" }],
  ])("without %s is not opened, and says what is missing", async (missing, settings) => {
    const opening = WEBHOOK.open({ name: "door", settings, reveal: () => "" } as never);
    await expect(opening).rejects.toThrow(`connectors.door.${missing} is missing.`);
  });
});
