/** WhatsApp Web at its event port: files in and out, and reactions that come in. */
import { describe, expect, it } from "vitest";
import { MemoryHost } from "../../../app/testing/kit/kit-case.ts";
import type { Payload } from "../../../core/delivery/delivery.ts";
import type { FileReference } from "../../../core/file-reference.ts";
import type { IncomingMessage } from "../../../core/message/incoming-message.ts";
import { webWorld } from "./whatsapp-web.test-kit.ts";

const reference = (name: string, mimeType: string): FileReference => ({
  ...{ id: `file_${name}`, name, mimeType, size: 5, as: "reference" },
});

/** A host that stores files and notes in memory. */
function filing() {
  const stored = new Map<string, string>();
  const notes: IncomingMessage[] = [];
  const host = Object.assign(new MemoryHost(), {
    async note(message: IncomingMessage) {
      notes.push(message);
      return { status: "accepted", agentId: "a" as never, messageId: "a:1" as never } as const;
    },
    files: {
      maxBytes: 1_000_000,
      async put({ data, name = "" }: { readonly data: Uint8Array; readonly name?: string }) {
        stored.set(name, Buffer.from(data).toString("utf8"));
        return reference(name, "text/plain");
      },
      read: async ({ id }: { readonly id: string }) => (id === "file_gone" ? undefined : Buffer.from("bytes")),
    },
  });
  return { host, stored, notes };
}

const DOCUMENT = { documentMessage: { fileName: "notes.txt", mimetype: "text/plain", caption: "read", fileLength: 7 } };

async function opened(settings: object = {}) {
  const world = webWorld(settings);
  const { host, stored, notes } = filing();
  const { one } = await world.opened(host);
  const say = (message: object, data?: string) => {
    const id = world.fake.takeId();
    if (data !== undefined) world.fake.files.set(id, Buffer.from(data));
    const key = { remoteJid: "491@s.whatsapp.net", fromMe: false, id };
    world.fake.say("491", "", world.clock.now(), { key, message });
    return id;
  };
  const text = async (count = 1): Promise<string> => {
    await world.until(() => host.messages.length === count);
    return host.prompts.at(-1) ?? "";
  };
  return { ...world, one, host, stored, notes, say, text };
}

describe("a file that comes in", () => {
  it.each([
    [{ imageMessage: { mimetype: "image/jpeg", caption: "look" } }, "photo.jpg", "look"],
    [{ videoMessage: { mimetype: "video/mp4" } }, "video.mp4", ""],
    [{ audioMessage: { mimetype: "audio/ogg; codecs=opus", ptt: true } }, "audio.ogg", ""],
    [DOCUMENT, "notes.txt", "read"],
    [{ documentWithCaptionMessage: { message: DOCUMENT } }, "notes.txt", "read"],
    [{ ephemeralMessage: { message: { stickerMessage: { mimetype: "image/webp" } } } }, "sticker.webp", "[sticker]"],
  ])("is stored for its sender: %j", async (message, name, said) => {
    const { one, host, stored, say, text } = await opened();
    say(message, "content");
    expect(await text()).toBe(said);
    expect([...stored]).toEqual([[name, "content"]]);
    expect(host.messages[0]?.files?.map((file) => file.name)).toEqual([name]);
    await one.stop();
  });

  it("whose address has expired is asked of the phone once", async () => {
    const { one, fake, stored, say, text } = await opened();
    const key = say(DOCUMENT);
    fake.onPhone.set(key, Buffer.from("from the phone"));
    expect(await text()).toBe("read");
    expect([[...stored], fake.uploadsAsked]).toEqual([[["notes.txt", "from the phone"]], [key]]);
    await one.stop();
  });

  it("that the phone does not give is named, without its address, and holds up nothing for long", async () => {
    const { one, clock, fake, say, text, host, lines } = await opened();
    const before = clock.monotonic();
    say(DOCUMENT);
    expect(await text()).toBe('read\n[document "notes.txt" was not fetched: it took too long]');
    expect(clock.monotonic() - before).toBeLessThan(45_000);
    fake.download = "breaks";
    fake.onPhone.set(say(DOCUMENT, "half"), Buffer.from("half again"));
    expect(await text(2)).toContain("was not fetched: the stream ended early]");
    expect(JSON.stringify([host.messages, lines])).not.toContain("secret-path");
    await one.stop();
  });

  it.each([
    ["says that it is larger than the limit", { ...DOCUMENT.documentMessage, fileLength: 2_000_000 }, "x"],
    ["is larger than it says", { ...DOCUMENT.documentMessage, fileLength: 3 }, "x".repeat(1_000_001)],
    ["does not say how large it is", { ...DOCUMENT.documentMessage, fileLength: undefined }, "x".repeat(1_000_001)],
  ])("that %s is named with the reason", async (_, documentMessage, data) => {
    const { one, stored, say, text } = await opened();
    say({ documentMessage }, data);
    expect(await text()).toContain('[document "notes.txt" was not fetched: it is larger than 1000000 bytes]');
    expect(stored.size).toBe(0);
    await one.stop();
  });

  it("of a stranger is not fetched", async () => {
    const { one, fake, host, stored, say, until } = await opened();
    host.closed = true;
    say(DOCUMENT, "content");
    await until(() => fake.texts().includes("I do not know you yet."));
    expect([stored.size, fake.uploadsAsked]).toEqual([0, []]);
    await one.stop();
  });
});

describe("a file that goes out", () => {
  const send = async (payload: Payload) => {
    const { one, fake } = await opened();
    const delivery = { id: "f.0" as never, attempt: 1, target: { channel: "whatsapp-web", to: "491" }, payload };
    const result = await one.send(delivery, new AbortController().signal);
    await one.stop();
    return { result, content: [...fake.shown.values()].at(-1)?.content };
  };
  const bytes = Buffer.from("bytes");

  it.each([
    ["image/png", undefined, { image: bytes, mimetype: "image/png" }],
    ["image/jpeg", "**look**", { image: bytes, mimetype: "image/jpeg", caption: "*look*" }],
    ["video/mp4", undefined, { video: bytes, mimetype: "video/mp4" }],
    ["audio/ogg; codecs=opus", undefined, { audio: bytes, mimetype: "audio/ogg; codecs=opus", ptt: true }],
    ["audio/mpeg", undefined, { audio: bytes, mimetype: "audio/mpeg" }],
    ["audio/mpeg", "listen", { document: bytes, mimetype: "audio/mpeg", fileName: "thing", caption: "listen" }],
    ["application/zip", undefined, { document: bytes, mimetype: "application/zip", fileName: "thing" }],
  ])("of the type %s with the text %s", async (mimeType, text, expected) => {
    const { result, content } = await send({ text, files: [reference("thing", mimeType)] });
    expect([result.status, content]).toEqual(["sent", expected]);
  });

  it("that is no longer stored is refused, and the agent reads it", async () => {
    const { result, content } = await send({ files: [reference("gone", "image/png")] });
    expect(result).toEqual({ status: "refused", reason: "The file gone is no longer stored.", tell: true });
    expect(content).toBeUndefined();
  });

  it("is unconfirmed if the connection breaks, and an acknowledgement of that attempt confirms it", async () => {
    const { one, fake, host, until } = await opened();
    const receipts: object[] = [];
    Object.assign(host, { receipt: async (receipt: object) => void receipts.push(receipt) });
    fake.failNext.push("after");
    const delivery = {
      ...{ id: "f.1" as never, attempt: 2, target: { channel: "whatsapp-web", to: "491" } },
      payload: { files: [reference("thing", "image/png")] },
    };
    expect((await one.send(delivery, new AbortController().signal)).status).toBe("unknown");
    const [id] = [...fake.shown.keys()];
    fake.emit("messages.update", [{ key: { id }, status: 1 }]);
    fake.emit("messages.update", [{ key: { id }, status: 3 }]);
    await until(() => receipts.length === 1);
    expect(receipts).toEqual([{ deliveryId: "f.1", attempt: 2, status: "arrived", receipt: id }]);
    await one.stop();
  });
});

describe("a reaction", () => {
  it("that comes in is a note, once, and one that is taken back is none", async () => {
    const { one, notes, host, say, wait, until } = await opened();
    say({ reactionMessage: { key: { id: "3EB0AAAA" }, text: "👍" } });
    await until(() => notes.length === 1);
    say({ reactionMessage: { key: { id: "3EB0AAAA" }, text: "" } });
    await wait(1_000);
    expect(notes).toMatchObject([{ userId: "491", text: "Person 491 reacted with 👍 to message 3EB0AAAA." }]);
    expect(notes[0]?.messageId).toMatch(/^reaction-/u);
    expect(host.messages).toEqual([]);
    await one.stop();
  });

  it("in a group names the person by the number, and a deletion is a note too", async () => {
    const { one, clock, fake, notes, until } = await opened();
    const key = (id: string) => ({
      ...{ remoteJid: "120@g.us", participant: "777@lid", participantAlt: "492@s.whatsapp.net", id },
    });
    const reactionMessage = { key: { id: "3EB0BBBB" }, text: "🎉" };
    fake.say("", "", clock.now(), { key: key("R1"), message: { reactionMessage } });
    fake.say("", "", clock.now(), {
      ...{ key: key("R2"), message: { protocolMessage: { type: 0, key: { id: "3EB0BBBB" } } } },
    });
    await until(() => notes.length === 2);
    expect(notes.map(({ userId, channelId, peerKind }) => [userId, channelId, peerKind])).toEqual([
      ["492", "120@g.us", "group"],
      ["492", "120@g.us", "group"],
    ]);
    expect(notes.map(({ text }) => text)).toEqual([
      expect.stringContaining("reacted with 🎉 to message 3EB0BBBB."),
      expect.stringContaining("deleted message 3EB0BBBB."),
    ]);
    await one.stop();
  });
});
