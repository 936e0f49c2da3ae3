/** What a message of WhatsApp Web says: whom it speaks to, what it answers, changes or deletes, and its files. */
import { describe, expect, it, test } from "vitest";
import { shownText } from "../chat/chat-message.ts";
import { messageIdOf, OWN_ID, readWebMessage, type Self } from "./read-web-message.ts";

const SELF: Self = { phone: "4915999", lid: "888" };
const NO_ONE: Self = { phone: "", lid: undefined };
const DIRECT = { remoteJid: "491@s.whatsapp.net", id: "A1" };
const GROUP = { remoteJid: "120@g.us", participant: "777@lid", id: "A1" };
const read = (key: object, message: object, more: object = {}, self = SELF) =>
  readWebMessage({ key, messageTimestamp: 10, message, ...more }, self, { phoneOf: () => undefined });

describe("in a group", () => {
  const extended = (text: string, contextInfo: object) => ({ extendedTextMessage: { text, contextInfo } });
  test.each<[string, object, Self, boolean]>([
    ["a text speaks to no one", { conversation: "hi" }, SELF, false],
    ["our number in the text speaks to us", { conversation: "@4915999 hi" }, SELF, true],
    [
      "our number among those named speaks to us",
      extended("x", { mentionedJid: ["4915999@s.whatsapp.net"] }),
      SELF,
      true,
    ],
    ["our LID among those named speaks to us", extended("x", { mentionedJid: ["1@lid", "888@lid"] }), SELF, true],
    ["someone else who is named is not us", extended("x", { mentionedJid: ["1@lid"] }), SELF, false],
    [
      "an answer to our message speaks to us",
      extended("x", { stanzaId: `${OWN_ID}1`, participant: "1@lid" }),
      SELF,
      true,
    ],
    [
      "an answer to our number speaks to us",
      extended("x", { stanzaId: "Q", participant: "4915999@s.whatsapp.net" }),
      SELF,
      true,
    ],
    ["an answer to our LID speaks to us", extended("x", { stanzaId: "Q", participant: "888:1@lid" }), SELF, true],
    ["an answer to someone else does not", extended("x", { stanzaId: "Q", participant: "1@lid" }), SELF, false],
    [
      "an answer to no one, while our LID is not known, does not",
      extended("x", { stanzaId: "Q" }),
      { phone: "1" },
      false,
    ],
    ["an at sign, while no one is logged in, does not", { conversation: "mail me @ home" }, NO_ONE, false],
    [
      "a name of a wrong form, while no one is logged in, does not",
      extended("x", { mentionedJid: ["?"] }),
      NO_ONE,
      false,
    ],
    [
      "a caption that names us speaks to us",
      { imageMessage: { caption: "x", contextInfo: { mentionedJid: ["888@lid"] } } },
      SELF,
      true,
    ],
  ])("%s", (_, message, self, addressed) => {
    expect(read(GROUP, message, {}, self)).toMatchObject({ addressed });
  });
});

describe("an answer", () => {
  const quoting = (contextInfo: object) => {
    const one = read(DIRECT, { extendedTextMessage: { text: "x", contextInfo } });
    return one.kind === "message" ? one.replyTo : one;
  };
  test.each<[string, object, object | undefined]>([
    [
      "names the message, who wrote it, and what it says",
      { stanzaId: "Q", participant: "492@s.whatsapp.net", quotedMessage: { conversation: "so" } },
      { messageId: "Q", typed: false, userId: "492", userName: "492", text: "so", isOurs: false },
    ],
    [
      "shows a long text",
      { stanzaId: "Q", quotedMessage: { ephemeralMessage: { message: { extendedTextMessage: { text: "long" } } } } },
      { messageId: "Q", typed: false, userId: undefined, userName: "someone", text: "long", isOurs: false },
    ],
    [
      "cuts what it quotes",
      { stanzaId: "Q", quotedMessage: { conversation: "x".repeat(1_001) } },
      expect.objectContaining({ text: "x".repeat(1_000) }),
    ],
    [
      "without an id is none",
      { stanzaId: "", participant: "492@s.whatsapp.net", quotedMessage: { conversation: "so" } },
      undefined,
    ],
    ["without anything is none", {}, undefined],
  ])("%s", (_, context, expected) => {
    expect(quoting(context)).toEqual(expected);
  });
});

describe("a notice about another message", () => {
  const about = { key: { id: "M0" } };
  test.each<[string, object, object]>([
    [
      "a reaction",
      { reactionMessage: { ...about, text: "👍" } },
      { kind: "reaction", messageId: "M0", reactionId: "A1", emoji: "👍", sentAt: 10_000 },
    ],
    ["a reaction that was taken back", { reactionMessage: { ...about, text: "" } }, { kind: "ignored" }],
    ["a reaction to nothing", { reactionMessage: { text: "👍" } }, { kind: "ignored" }],
    [
      "a deletion",
      { protocolMessage: { ...about, type: 0 } },
      { kind: "revoke", messageId: "M0", revokeId: "A1", sentAt: 10_000 },
    ],
    ["a deletion by its name", { protocolMessage: { ...about, type: "REVOKE" } }, { kind: "revoke", messageId: "M0" }],
    [
      "a deletion of what is ours",
      { protocolMessage: { type: 0, key: { id: messageIdOf("d.0") } } },
      { kind: "ignored" },
    ],
    ["a deletion of nothing", { protocolMessage: { type: 0 } }, { kind: "ignored" }],
    [
      "a change",
      { protocolMessage: { ...about, type: 14, editedMessage: { conversation: "new" } } },
      { kind: "message", messageId: "M0", text: "new" },
    ],
    [
      "a change by its name",
      { protocolMessage: { ...about, type: "MESSAGE_EDIT", editedMessage: { extendedTextMessage: { text: "new" } } } },
      { kind: "message", messageId: "M0", text: "new" },
    ],
    [
      "a change that is wrapped",
      {
        editedMessage: { message: { protocolMessage: { ...about, type: 14, editedMessage: { conversation: "new" } } } },
      },
      { kind: "message", messageId: "M0", text: "new" },
    ],
    ["something else", { protocolMessage: { ...about, type: 3 } }, { kind: "ignored" }],
  ])("%s", (_, message, expected) => {
    expect(read(DIRECT, message)).toMatchObject(expected);
  });

  it("that is a change has another revision for each, and a larger one later", () => {
    const edit = (id: string, messageTimestamp: number): number => {
      const protocolMessage = { ...about, type: 14, editedMessage: { conversation: "new" } };
      const one = read({ ...DIRECT, id }, { protocolMessage }, { messageTimestamp });
      return one.kind === "message" ? (one.revision ?? -1) : -1;
    };
    expect(edit("A1", 10)).toBe(edit("A1", 10));
    expect(edit("A1", 10)).not.toBe(edit("A2", 10));
    for (const id of ["A2", "A3", "A4", "A5"]) expect(edit(id, 11)).toBeGreaterThan(edit("A1", 10));
    expect(Number.isSafeInteger(edit("A1", 1_800_000_000))).toBe(true);
    expect(read(DIRECT, { conversation: "hi" })).not.toHaveProperty("revision");
  });
});

describe("the content", () => {
  const wrapped = (depth: number): object =>
    depth === 0 ? { conversation: "inside" } : { viewOnceMessage: { message: wrapped(depth - 1) } };
  test.each<[string, object, string]>([
    ["a text", { conversation: "hi" }, "hi"],
    ["a long text", { extendedTextMessage: { text: "long" } }, "long"],
    ["a caption", { imageMessage: { caption: "look" } }, "look"],
    ["a photo without one", { imageMessage: {} }, ""],
    ["a message that is seen once", { viewOnceMessageV2: { message: { conversation: "once" } } }, "once"],
    ["a message in five wraps", wrapped(5), "inside"],
    ["a message in six wraps", wrapped(6), "[a message that cannot be shown here: viewOnceMessage]"],
    ["a place", { locationMessage: { degreesLatitude: 1.5, degreesLongitude: -2 } }, "[location: 1.5, -2]"],
    [
      "a place with a name",
      { locationMessage: { degreesLatitude: 1, degreesLongitude: 2, name: "Home" } },
      "[location: 1, 2, Home]",
    ],
    ["a contact", { contactMessage: { displayName: "Eve" } }, "[contact: Eve]"],
    ["a question", { pollCreationMessage: { name: "Tea?" } }, "[poll: Tea?]"],
    ["something new", { messageContextInfo: {}, hologram: {} }, "[a message that cannot be shown here: hologram]"],
    ["nothing", {}, "[a message that cannot be shown here]"],
  ])("of %s", (_, message, text) => {
    const one = read(DIRECT, message);
    expect(one.kind === "message" ? shownText(one) : one).toBe(text);
  });

  test.each<[object, object]>([
    [
      { imageMessage: { mimetype: "image/png", fileLength: 7 } },
      { fileId: "imageMessage", name: "photo.jpg", what: "photo", mimeType: "image/png", size: 7 },
    ],
    [
      { documentMessage: { fileName: " a\nb.pdf ", fileLength: "12" } },
      { name: "a b.pdf", what: "document", size: 12 },
    ],
    [{ documentMessage: { title: "Title" } }, { name: "Title", size: undefined }],
    [{ documentMessage: { fileName: "" } }, { name: "document" }],
    [{ videoMessage: { fileLength: 1.5 } }, { name: "video.mp4", what: "video", size: undefined, mimeType: undefined }],
    [{ audioMessage: {} }, { name: "audio.ogg", what: "audio" }],
    [{ audioMessage: { ptt: true } }, { what: "voice message" }],
  ])("of the file %j", (message, expected) => {
    const one = read(DIRECT, message);
    expect(one.kind === "message" ? one.files : []).toEqual([expect.objectContaining(expected)]);
  });

  test.each([
    [true, ""],
    [false, undefined],
    [undefined, undefined],
  ])("that was forwarded (%s) says so", (isForwarded, forwarded) => {
    const one = read(DIRECT, { extendedTextMessage: { text: "x", contextInfo: { isForwarded } } });
    expect(one.kind === "message" ? one.forwarded : "?").toBe(forwarded);
  });
});
