/** One person on Telegram, on WhatsApp and at the terminal: one conversation, each answer where its question was asked. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { stdinConnector } from "../../src/adapters/connectors/stdin/stdin-connector.ts";
import { createRookery, type Rookery } from "../../src/app/library/create-rookery.ts";
import { virtualClock } from "../../src/app/testing/clock.ts";
import { lastText, type ModelCall } from "../../src/app/testing/model.ts";
import { scripted } from "../../src/app/testing/scripted.ts";
import type { Connector } from "../../src/core/ports/connector.ts";
import { FakeTelegram } from "../telegram/fake-telegram.ts";
import { FakeWhatsapp } from "../whatsapp/fake-whatsapp.ts";

const [TELEGRAM, WHATSAPP] = [7, "4915001"] as const;
const clock = virtualClock();
const printed: string[] = [];
const histories: string[] = [];
const lines: ((line: string) => void)[] = [];
let telegram: FakeTelegram;
let whatsapp: FakeWhatsapp;
let rookery: Rookery;

async function* input(): AsyncGenerator<string> {
  for (;;) yield `${await new Promise<string>((resolve) => lines.push(resolve))}\n`;
}

async function type(line: string): Promise<void> {
  await telegram.until(() => lines.length > 0);
  lines.shift()?.(line);
}

beforeAll(async () => {
  telegram = await new FakeTelegram({ clock }).start();
  whatsapp = await new FakeWhatsapp({
    clock,
    bring: async (request) =>
      (await rookery.fetch(new Request("http://127.0.0.1/channels/whatsapp", { method: "POST", ...request }))).status,
  }).start();
  const terminal = stdinConnector({
    ...{ input: input(), user: "owner", lines: true, errors: { write: () => true } },
    output: { write: (text: string) => printed.push(text) },
  });
  terminal.finished.catch(() => undefined);
  const { token, appSecret, number: phoneNumberId, url, verifyToken: secret } = whatsapp;
  rookery = await createRookery({
    ...{ home: "memory", clock, connectors: [terminal as Connector] },
    model: scripted(
      ...Array.from({ length: 50 }, () => ({ request }: ModelCall) => {
        histories.push(JSON.stringify(request.messages));
        return `answer to ${lastText(request)}`;
      }),
    ),
    config: {
      connectors: {
        telegram: { token: "123456:fake-token", apiRoot: telegram.url, drafts: false },
        whatsapp: { token, appSecret, phoneNumberId, apiRoot: url, webhook: { secret } },
      },
      owner: { accounts: [`telegram:${TELEGRAM}`, `whatsapp:${WHATSAPP}`] },
    },
  });
});

afterAll(async () => {
  await telegram.during(rookery.close());
  await telegram.close();
  await whatsapp.close();
});

const shown = (): Record<"telegram" | "whatsapp" | "terminal", readonly string[]> => ({
  telegram: telegram.textsTo(TELEGRAM),
  whatsapp: whatsapp.textsTo(WHATSAPP),
  terminal: printed.map((text) => text.trim()).filter((text) => text.startsWith("answer")),
});

describe("the owner on three channels", () => {
  it("has one conversation, and each answer comes where its question was asked", async () => {
    telegram.say(TELEGRAM, "one");
    await telegram.until(() => shown().telegram.length === 1);
    await telegram.during(rookery.settled());
    whatsapp.say(WHATSAPP, "two");
    await telegram.until(() => shown().whatsapp.length === 1);
    await telegram.during(rookery.settled());
    await type("three");
    await telegram.until(() => shown().terminal.length === 1);
    await telegram.during(rookery.settled());
    whatsapp.say(WHATSAPP, "four");
    await telegram.until(() => shown().whatsapp.length === 2);
    await telegram.during(rookery.settled());
    expect(shown()).toEqual({
      telegram: ["answer to one"],
      whatsapp: ["answer to two", "answer to four"],
      terminal: ["answer to three"],
    });
    expect((await rookery.agents.list()).items).toHaveLength(1);
    for (const said of ["one", "two", "three", "four"]) expect(histories.at(-1)).toContain(said);
  });

  it.each([
    ["telegram", (): unknown => telegram.say(TELEGRAM, "here"), (): readonly string[] => shown().telegram],
    ["whatsapp", (): unknown => whatsapp.say(WHATSAPP, "there"), (): readonly string[] => shown().whatsapp],
  ] as const)("gets a report where it was last: %s", async (channel, write, texts) => {
    const before = texts().length;
    write();
    await telegram.until(() => texts().length === before + 1);
    const schedule = { kind: "every", everyMs: 3_600_000 } as const;
    const payload = { kind: "agentTurn", message: `report for ${channel}`, deliver: true } as const;
    const job = await telegram.during(rookery.schedule.add({ name: `to ${channel}`, schedule, payload }));
    await telegram.during(rookery.schedule.run(job.id));
    await telegram.until(() => texts().length === before + 2);
    await telegram.during(rookery.settled());
    expect(texts().at(-1)).toContain(`report for ${channel}`);
    const all = Object.values(shown()).flat();
    expect(all.filter((text) => text.includes(`report for ${channel}`))).toHaveLength(1);
  });
});
