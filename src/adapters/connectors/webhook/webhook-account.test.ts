/** A program as a channel: the contract kit, and the whole engine with its gateway. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { FakeProgram } from "../../../../test/webhook/fake-program.ts";
import { bringTo } from "../../../../test/whatsapp/to-receive.ts";
import { createRookery, type Rookery } from "../../../app/library/create-rookery.ts";
import { virtualClock } from "../../../app/testing/clock.ts";
import { type ConnectorPlatform, connectorKit } from "../../../app/testing/connector-kit.ts";
import { recordingLog } from "../../../app/testing/log.ts";
import { lastText, type ModelCall } from "../../../app/testing/model.ts";
import { scripted } from "../../../app/testing/scripted.ts";
import { configSchema } from "../../../config/config-schema.ts";
import type { Connector, ConnectorHost } from "../../../core/ports/connector.ts";
import { webhookAccount } from "./webhook-account.ts";

const closing: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  for (const close of closing) await close();
});

async function program(): Promise<ConnectorPlatform> {
  const clock = virtualClock();
  let now: { connector: Connector; host: ConnectorHost } | undefined;
  const fake = await new FakeProgram({
    clock,
    bring: (one) => bringTo(now?.connector, now?.host, "webhook", one),
  }).start();
  closing.push(() => fake.close());
  const settings = configSchema.parse({ connectors: { webhook: { sendUrl: fake.url, webhook: { secret: "x" } } } })
    .connectors.webhook;
  if (!settings) throw new TypeError("no settings");
  const ports = { clock, log: recordingLog([]) } as never;
  const wait = async (ms: number): Promise<void> => {
    await clock.advance(ms, () => new Promise((resolve) => setImmediate(resolve)));
    await new Promise((resolve) => setTimeout(resolve, 2));
  };
  let person = 0;
  return {
    connector() {
      const common = { name: "webhook", settings, sendUrl: fake.url, reveal: () => "", ports };
      const made = webhookAccount({ ...common, secret: () => fake.secret });
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
    say: (text) => fake.say(`person-${++person}`, text),
    sayAgain: (id) => fake.push({ id, from: `person-${person}`, text: "hello from the kit" }),
    edit: (id, text) => fake.push({ id, from: `person-${person}`, text, revision: 1 }),
    isAcknowledged: () => fake.pending === 0,
    settled: async () => {
      for (let n = 0; n < 20; n++) await wait(50);
    },
    wait,
    target: { channel: "webhook", to: "ann" },
    shown: () => [...fake.shown.values()].map(({ text }) => String(text)),
    failNext(how) {
      const faults = {
        "not-sent": "cut-before",
        "lost-answer": "cut-after",
        refused: 422,
        form: 422,
        rate: 429,
      } as const;
      fake.faults.push(faults[how]);
    },
  };
}

describe("the connector to a program", () => {
  it.each(connectorKit(program).map((one) => [one.name, one] as const))("%s", async (_, one) => {
    await expect(one.run()).resolves.toBeUndefined();
  });
});

describe("a program in a whole engine", () => {
  const clock = virtualClock();
  const prompts: string[] = [];
  let fake: FakeProgram;
  let mailbox: FakeProgram;
  let rookery: Rookery;
  const post = (body: string, headers: Record<string, string>, account = "door") =>
    rookery.fetch(new Request(`http://127.0.0.1/channels/${account}`, { method: "POST", body, headers }));

  beforeAll(async () => {
    mailbox = await new FakeProgram({ clock }).start();
    fake = await new FakeProgram({
      clock,
      bring: async ({ body, headers }) => (await post(body, headers)).status,
    }).start();
    rookery = await createRookery({
      home: "memory",
      clock,
      model: scripted(
        ...Array.from({ length: 50 }, () => ({ request }: ModelCall) => {
          prompts.push(lastText(request));
          return `answer to ${lastText(request)}`;
        }),
      ),
      config: {
        connectors: { door: { kind: "webhook", sendUrl: fake.url, webhook: { secret: fake.secret } } },
        mailbox: { webhooks: { app: { url: mailbox.url, secret: mailbox.secret, users: ["eve"] } } },
        owner: { accounts: ["webhook:ann"] },
      },
    });
  });
  afterAll(async () => {
    await fake.during(rookery.close());
    await fake.close();
    await mailbox.close();
  });

  it("answers a message with a file, in its thread, once, though the answer is lost", async () => {
    fake.faults.push("cut-after");
    const files = [{ name: "notes.txt", data: Buffer.from("the code is 4711").toString("base64") }];
    fake.say("ann", "read this", { thread: "t1", name: "Ann", files });
    await fake.until(() => fake.shown.size === 1 && fake.requests === 2);
    const [answer] = fake.shown.values();
    expect(answer).toMatchObject({ to: "ann", thread: "t1", text: expect.stringContaining("the code is 4711") });
  });

  it("says what is wrong with a message, and what became of it", async () => {
    const ask = async (message: object) => {
      const body = JSON.stringify(message);
      const answer = await fake.during(post(body, fake.signed(body)));
      return [answer.status, await answer.json()];
    };
    expect(await ask({ id: "w1", from: "ann" })).toEqual([400, { error: "text: a message without text and files" }]);
    expect(await ask({ from: "ann", text: "x" })).toEqual([400, { error: expect.stringMatching(/^id: /u) }]);
    expect(await ask({ id: "w2", from: "ann", text: "well" })).toEqual([200, { status: "accepted" }]);
    expect(await ask({ id: "w2", from: "ann", text: "well" })).toEqual([200, { status: "duplicate" }]);
    expect(await ask({ id: "w3", from: "bob", text: "hi", chat: "room", group: true })).toMatchObject([200, {}]);
    const quiet = { id: "w4", from: "ann", text: "psst", chat: "room", group: true, addressed: false };
    expect(await ask(quiet)).toEqual([200, { status: "heard" }]);
    await fake.during(rookery.settled());
  });

  it.each([
    ["another secret", (body: string) => ({ ...fake.signed(body), "x-rookery-signature": "v1=0" })],
    ["no signature", () => ({})],
    ["a time long past", (body: string) => fake.signed(body, Math.floor(fake.now() / 1_000) - 301)],
    ["a time to come", (body: string) => fake.signed(body, Math.floor(fake.now() / 1_000) + 301)],
    ["the signature of another body", (body: string) => fake.signed(`${body} `)],
  ])("refuses a request with %s", async (_, headers) => {
    const body = JSON.stringify({ id: "forged", from: "ann", text: "forged" });
    expect((await fake.during(post(body, headers(body)))).status).toBe(401);
    expect(prompts.join()).not.toContain("forged");
  });

  it("is no mailbox: what waits for a user of the API still goes to the application", async () => {
    await fake.during(rookery.agent("eve").send("for the mailbox", { mailbox: true }));
    await fake.until(() => mailbox.shown.size === 1);
    expect([...mailbox.shown.values()]).toMatchObject([{ to: "eve", text: "answer to for the mailbox" }]);
    expect([fake.wrong, mailbox.wrong]).toEqual([[], []]);
  });

  it("tells a stranger how to be let in, at its own address", async () => {
    fake.say("stranger", "let me in");
    await fake.until(() => fake.textsTo("stranger").length === 1);
    expect(fake.textsTo("stranger")[0]).toContain("code");
  });
});
