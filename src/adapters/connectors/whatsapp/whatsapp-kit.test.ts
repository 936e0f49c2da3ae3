/** The contract kit against the Cloud API: a server that speaks it over HTTP and brings webhooks. */
import { afterAll, describe, expect, it } from "vitest";
import { FakeWhatsapp } from "../../../../test/whatsapp/fake-whatsapp.ts";
import { bringTo } from "../../../../test/whatsapp/to-receive.ts";
import { virtualClock } from "../../../app/testing/clock.ts";
import { type ConnectorPlatform, connectorKit } from "../../../app/testing/connector-kit.ts";
import { recordingLog } from "../../../app/testing/log.ts";
import { configSchema } from "../../../config/config-schema.ts";
import type { Connector, ConnectorHost } from "../../../core/ports/connector.ts";
import { whatsappConnector } from "./whatsapp-connector.ts";

const closing: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  for (const close of closing) await close();
});

async function whatsapp(): Promise<ConnectorPlatform> {
  const clock = virtualClock();
  let now: { connector: Connector; host: ConnectorHost } | undefined;
  const fake = await new FakeWhatsapp({
    clock,
    bring: (request) => bringTo(now?.connector, now?.host, "whatsapp", request),
  }).start();
  closing.push(() => fake.close());
  const entry = { token: "x", phoneNumberId: fake.number, appSecret: "x", webhook: { secret: "x" }, apiRoot: fake.url };
  const settings = configSchema.parse({ connectors: { whatsapp: entry } }).connectors.whatsapp;
  if (!settings) throw new TypeError("no settings");
  const ports = { clock, log: recordingLog([]), store: {} } as never;
  const wait = async (ms: number): Promise<void> => {
    for (let left = ms; left > 0; left -= 100) {
      await clock.advance(Math.min(left, 100), () => new Promise((resolve) => setImmediate(resolve)));
    }
    await new Promise((resolve) => setTimeout(resolve, 2));
  };
  let person = 491_500;
  return {
    connector() {
      const { appSecret, verifyToken } = fake;
      const reveal = () => fake.token;
      const made = whatsappConnector({ name: "whatsapp", settings, appSecret, verifyToken, reveal, ports });
      return {
        ...made,
        async start(host) {
          await made.start(host);
          now = { connector: made, host };
        },
        async stop() {
          now = undefined;
          await made.stop();
        },
      };
    },
    say: (text) => fake.say(String(++person), text),
    sayAgain: (id) =>
      fake.pushMessage({
        ...{ from: String(person), id: id as string, timestamp: String(fake.now()), type: "text" },
        text: { body: "hello from the kit" },
      }),
    edit: (id, text) => fake.edit(String(person), id as string, text),
    isAcknowledged: () => fake.pending === 0,
    settled: async () => {
      for (let n = 0; n < 20; n++) await wait(50);
    },
    wait,
    target: { channel: "whatsapp", to: "491700" },
    previews: () => fake.marks.filter((one) => one.typing_indicator !== undefined).length,
    shown: () => fake.sent.map(({ text }) => text),
    failNext(how) {
      if (how === "not-sent") fake.fail("message", { cut: "before" });
      else if (how === "lost-answer") fake.fail("message", { cut: "after" });
      else if (how === "rate")
        fake.fail("message", { answer: { status: 400, code: 130_429, message: "Rate limit hit" } });
      else
        fake.fail("message", {
          answer: { status: 400, code: how === "form" ? 100 : 131_026, message: "Undeliverable" },
        });
    },
  };
}

describe("the connector to the WhatsApp Cloud API", () => {
  it.each(connectorKit(whatsapp).map((one) => [one.name, one] as const))("%s", async (_, one) => {
    await expect(one.run()).resolves.toBeUndefined();
  });
});
