/** Files over Telegram: stored for their sender, named if they cannot be, and sent as rows of their own. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { seededIds } from "../../../../test/kit/ids.ts";
import { FakeTelegram } from "../../../../test/telegram/fake-telegram.ts";
import { createRookery, type Rookery } from "../../../app/library/create-rookery.ts";
import { virtualClock } from "../../../app/testing/clock.ts";
import { recordingLog } from "../../../app/testing/log.ts";
import { lastText, type ModelCall } from "../../../app/testing/model.ts";
import { scripted } from "../../../app/testing/scripted.ts";
import { configSchema } from "../../../config/config-schema.ts";
import { openMemoryStore } from "../../store/sqlite/open-store.ts";
import { telegramConnector } from "./telegram-connector.ts";

const OWNER = 7;
const clock = virtualClock();
let fake: FakeTelegram;
let rookery: Rookery;
const prompts: string[] = [];

beforeAll(async () => {
  fake = await new FakeTelegram({ clock }).start();
  const model = scripted(
    ...Array.from({ length: 50 }, () => ({ request }: ModelCall) => {
      prompts.push(lastText(request));
      return "read";
    }),
  );
  const telegram = { token: "123456:fake-token", apiRoot: fake.url };
  const config = {
    connectors: { telegram },
    files: { maxBytes: 1_000_000 },
    owner: { accounts: [`telegram:${OWNER}`] },
  };
  rookery = await createRookery({ home: "memory", clock, model, config });
});

afterAll(async () => {
  await fake.during(rookery.close());
  await fake.close();
});

const document = (name: string, size: number) => ({
  document: { file_id: name, file_unique_id: name, file_name: name, file_size: size },
});

describe("a file that comes in", () => {
  it("is stored and shown to the model", async () => {
    fake.files.set("notes.txt", Buffer.from("the code is 4711"));
    fake.say(OWNER, undefined as never, { ...document("notes.txt", 16), caption: "read this" });
    await fake.until(() => fake.textsTo(OWNER).length === 1);
    expect(prompts.at(-1)).toContain("read this");
    expect(prompts.at(-1)).toContain("notes.txt");
    expect((await rookery.files.list()).items.map(({ name }) => name)).toContain("notes.txt");
  });

  it("is named with the reason if it is too large or cannot be fetched", async () => {
    fake.say(OWNER, undefined as never, document("huge.bin", 5_000_000));
    await fake.until(() => fake.textsTo(OWNER).length === 2);
    expect(prompts.at(-1)).toContain('[document "huge.bin" was not fetched: it is larger than 1000000 bytes]');
    fake.say(OWNER, undefined as never, document("gone.txt", 10));
    await fake.until(() => fake.textsTo(OWNER).length === 3);
    expect(prompts.at(-1)).toContain('[document "gone.txt" was not fetched: 400: Bad Request: file not found]');
  });

  it("is not fetched for a stranger", async () => {
    const before = fake.calls.filter(({ method }) => method === "getFile").length;
    fake.files.set("evil.txt", Buffer.from("x"));
    fake.say(99, undefined as never, document("evil.txt", 1));
    await fake.until(() => fake.textsTo(99).length === 1);
    expect(fake.calls.filter(({ method }) => method === "getFile")).toHaveLength(before);
  });
});

describe("a file that goes out", () => {
  it.each([
    ["image/png", "sendPhoto"],
    ["video/mp4", "sendVideo"],
    ["audio/ogg; codecs=opus", "sendVoice"],
    ["application/pdf", "sendDocument"],
  ])("of the type %s is sent with %s", async (mimeType, method) => {
    const settings = configSchema.parse({
      connectors: { telegram: { token: "x", apiRoot: fake.url, enabled: true } },
    }).connectors.telegram;
    if (!settings) throw new TypeError("no settings");
    const ports = { clock, log: recordingLog([]), store: openMemoryStore(), ids: seededIds("bot") } as never;
    const connector = telegramConnector({
      name: "out",
      settings,
      token: fake.token,
      reveal: () => "",
      ports,
    });
    const files = {
      maxBytes: 1_000,
      put: () => Promise.reject(new TypeError("unused")),
      read: async () => Buffer.from("bytes"),
    };
    await connector.start({
      accept: async () => ({ status: "stale" }),
      command: async () => ({ status: "stale" }),
      files,
    });
    const file = { id: "file_1", name: "thing", mimeType, size: 5, as: "reference" } as const;
    const delivery = {
      id: `f.${method}` as never,
      target: { channel: "telegram", to: `80${method.length}` },
      payload: { files: [file] },
    };
    const result = await fake.during(connector.send(delivery, new AbortController().signal));
    await connector.stop();
    expect(result.status).toBe("sent");
    expect(fake.sent.at(-1)).toMatchObject({ method, chat: `80${method.length}` });
  });
});
