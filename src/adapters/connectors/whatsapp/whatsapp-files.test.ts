/** Files over the WhatsApp Cloud API: fetched for people who are known, and uploaded before the message that refers to them. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { recordingLog } from "../../../app/testing/log.ts";
import { configSchema } from "../../../config/config-schema.ts";
import type { Connector, OutgoingDelivery, SendResult } from "../../../core/ports/connector.ts";
import { mediaKindOf, uploadTypeOf } from "./message-body.ts";
import { call, OWNER, WhatsappWorld } from "./whatsapp.test-kit.ts";
import { whatsappConnector } from "./whatsapp-connector.ts";

let world: WhatsappWorld;
let fake: WhatsappWorld["fake"];
let prompts: WhatsappWorld["prompts"];

beforeAll(async () => {
  world = await WhatsappWorld.open();
  ({ fake, prompts } = world);
});
afterAll(() => world.close());

const settle = (): Promise<void> => world.settle();
const uploadCalls = (): number => fake.calls.filter(({ method }) => method === "upload").length;

const fileMessage = (id: string, more: object = {}) => ({
  ...{ from: OWNER, id: fake.takeId(), timestamp: String(fake.now()), type: "document" },
  document: { id, filename: "notes.txt", mime_type: "text/plain", caption: "read this", ...more },
});

/** A file of the owner, as a message brings it. Returns its id. */
async function stored(name: string, data: Buffer): Promise<string> {
  fake.media.set(name, { data, mime: "application/octet-stream" });
  fake.pushMessage(fileMessage(name, { filename: name }));
  await settle();
  const file = (await world.rookery.files.list()).items.find((one) => one.name === name);
  if (!file) throw new TypeError(`${name} was not stored`);
  return file.id;
}

describe("files that come in", () => {
  it("are stored and shown, also if their address has expired", async () => {
    fake.expired = 1;
    const before = fake.calls.length;
    await stored("notes.txt", Buffer.from("the code is 4711"));
    expect(prompts.at(-1)).toContain("notes.txt");
    expect(fake.calls.slice(before).filter(({ method }) => method === "media")).toHaveLength(2);
  });

  it("are named with the reason if they are too large, gone, or do not come in three tries", async () => {
    fake.media.set("big", { data: Buffer.alloc(1_500_000), mime: "application/pdf" });
    fake.pushMessage(fileMessage("big"));
    await settle();
    expect(prompts.at(-1)).toContain('[document "notes.txt" was not fetched: it is larger than 1000000 bytes]');
    fake.pushMessage(fileMessage("gone"));
    await settle();
    expect(prompts.at(-1)).toContain("Media is not available");
    fake.media.set("dead", { data: Buffer.from("x"), mime: "text/plain" });
    fake.expired = 3;
    fake.pushMessage(fileMessage("dead"));
    await settle();
    expect(prompts.at(-1)).toContain('[document "notes.txt" was not fetched: the server answered 404]');
  });

  it("are not fetched for a stranger", async () => {
    const before = fake.calls.filter(({ method }) => method === "media").length;
    fake.pushMessage({ ...fileMessage("big"), from: "4999" });
    await settle();
    expect(fake.calls.filter(({ method }) => method === "media")).toHaveLength(before);
  });
});

describe("files that the agent sends", () => {
  it("are uploaded, and sent behind their text by the id of the upload", async () => {
    fake.say(OWNER, call("write", { path: "report.csv", content: "a,b\n1,2" }));
    await settle();
    const before = fake.sent.length;
    fake.say(OWNER, call("send_file", { path: "report.csv", text: "the figures" }));
    await fake.until(() => fake.sent.length >= before + 3);
    await settle();
    const [text, file, end] = fake.sent.slice(before);
    expect([text?.text, file?.text, end?.text.slice(0, 16)]).toEqual([
      "the figures",
      "[document: report.csv]",
      "then: report.csv",
    ]);
    const { id } = (file?.body.document ?? {}) as { id?: string };
    expect(fake.uploads.get(id ?? "")).toEqual({ type: "text/plain", name: "report.csv", content: "a,b\n1,2" });
  });

  it("of a type that WhatsApp refuses fail, and the agent reads why in its next turn", async () => {
    const id = await stored("data.zip", Buffer.from([0x50, 0x4b, 0x03, 0x04, 0, 0, 0, 0]));
    fake.say(OWNER, call("send_file", { path: id }));
    const [failed] = await world.ended("failed", 1);
    expect(failed?.reason).toContain("WhatsApp does not take the file data.zip (application/zip)");
    fake.say(OWNER, "did it arrive?");
    await settle();
    const seen = JSON.stringify(world.lastRequest);
    expect(seen).toContain(`This did not reach whatsapp:${OWNER}`);
    expect(seen).toContain("must be a file with one of the following types");
  });

  it("are sent once if the answer to the upload is lost, and nothing is unconfirmed", async () => {
    const id = await stored("once.pdf", Buffer.from("%PDF-1.4 once"));
    const uploads = uploadCalls();
    fake.fail("upload", { cut: "after" }, { answer: { status: 502 } });
    fake.say(OWNER, call("send_file", { path: id }));
    await fake.until(() => fake.textsTo(OWNER).includes("[document: once.pdf]"));
    await settle();
    expect(uploadCalls() - uploads).toBe(3);
    expect(fake.textsTo(OWNER).filter((text) => text === "[document: once.pdf]")).toHaveLength(1);
    await world.ended("unconfirmed", 0);
  });

  it("are unconfirmed and never sent again if the message behind the upload may have left", async () => {
    const id = await stored("lost.pdf", Buffer.from("%PDF-1.4 lost"));
    fake.fail("message", { cut: "before" });
    fake.say(OWNER, call("send_file", { path: id }));
    const [only] = await world.ended("unconfirmed", 1);
    expect(only?.payload.files?.[0]?.name).toBe("lost.pdf");
    fake.status("wamid.lost", OWNER, "delivered", only?.id);
    await world.ended("unconfirmed", 0);
    expect(fake.textsTo(OWNER)).not.toContain("[document: lost.pdf]");
  });
});

describe("one file", () => {
  const MB = 1_000_000;
  it.each([
    ["image/png", 5 * MB, "image"],
    ["image/jpeg", 5 * MB + 1, "document"],
    ["image/webp", 10, "document"],
    ["video/mp4", 16 * MB, "video"],
    ["video/mp4", 16 * MB + 1, "document"],
    ["audio/mpeg", 16 * MB, "audio"],
    ["audio/ogg; codecs=opus", 10, "audio"],
    ["application/pdf", 100 * MB, "document"],
  ])("of the type %s and %i bytes is shown as %s", (type, size, expected) => {
    expect(mediaKindOf(type, size).type).toBe(expected);
  });

  it.each([
    ["text/html", "text/plain"],
    ["application/json", "text/plain"],
    ["audio/ogg; codecs=opus", "audio/ogg"],
    ["audio/x-m4a", "audio/mp4"],
    ["application/pdf", "application/pdf"],
    ["application/zip", "application/zip"],
  ])("of the type %s is uploaded as %s", (type, expected) => {
    expect(uploadTypeOf(type)).toBe(expected);
  });

  const send = async (
    payload: { readonly mimeType: string; readonly text?: string },
    data: Uint8Array | undefined = Buffer.from("bytes"),
  ): Promise<SendResult> => {
    const { token, number, url, appSecret, verifyToken } = fake;
    const entry = { token, appSecret, phoneNumberId: number, apiRoot: url, webhook: { secret: verifyToken } };
    const settings = configSchema.parse({ connectors: { whatsapp: entry } }).connectors.whatsapp;
    if (!settings) throw new TypeError("no settings");
    const ports = { clock: world.clock, log: recordingLog([]), store: {} } as never;
    const connector: Connector = whatsappConnector({
      ...{ name: "out", settings, appSecret, verifyToken, reveal: () => token, ports },
    });
    const files = {
      maxBytes: 1_000,
      put: () => Promise.reject(new TypeError("unused")),
      read: async () => data,
    };
    const nothing = async () => ({ status: "stale" }) as const;
    await connector.start({ accept: nothing, command: nothing, files });
    const { mimeType, text } = payload;
    const file = { id: "file_1", name: "thing", mimeType, size: 5, as: "reference" } as const;
    const delivery: OutgoingDelivery = {
      ...{ id: "f.0" as never, target: { channel: "whatsapp", to: "4980" }, payload: { text, files: [file] } },
    };
    const result = await fake.during(connector.send(delivery, new AbortController().signal));
    await connector.stop();
    return result;
  };

  it.each([
    ["image/png", undefined, "[image: ]"],
    ["image/png", "**look**", "[image: ] *look*"],
    ["video/mp4", undefined, "[video: ]"],
    ["audio/mpeg", undefined, "[audio: ]"],
    ["audio/ogg; codecs=opus", undefined, "[voice: ]"],
    ["audio/mpeg", "listen", "[document: thing] listen"],
    ["application/pdf", "read", "[document: thing] read"],
  ])("of the type %s with the text %s is seen as %s", async (mimeType, text, expected) => {
    expect((await send({ mimeType, text })).status).toBe("sent");
    expect(fake.textsTo("4980").at(-1)).toBe(expected);
  });

  it.each([
    [
      "is larger than the server takes",
      { mimeType: "application/pdf" },
      100 * MB + 1,
      "is larger than 100000000 bytes",
    ],
    ["has a text that is too long", { mimeType: "image/png", text: "x".repeat(1_025) }, 5, "too long"],
  ])("that %s is refused, and the agent reads it", async (_, payload, length, reason) => {
    // A hundred megabytes are not needed to see that they are too many.
    const data = length > MB ? ({ length } as Uint8Array) : Buffer.alloc(length);
    const result = await send(payload, data);
    expect(result).toMatchObject({ status: "refused", tell: true, reason: expect.stringContaining(reason) });
  });

  it("that is no longer stored is refused, and the agent reads it", async () => {
    const uploads = uploadCalls();
    const gone = await send({ mimeType: "image/png" }, null as never);
    expect(gone).toEqual({ status: "refused", reason: "The file thing is no longer stored.", tell: true });
    expect(uploadCalls()).toBe(uploads);
  });

  it("that meets a limit of the account is tried again later", async () => {
    fake.fail("upload", { answer: { status: 429, code: 80_007, message: "Rate limit" } });
    expect(await send({ mimeType: "image/png" })).toMatchObject({ status: "retry", afterMs: 5_000 });
    fake.fail("upload", { answer: { status: 401, code: 190, message: "Expired" } });
    expect(await send({ mimeType: "image/png" })).toMatchObject({ status: "retry", afterMs: 60_000 });
  });
});
