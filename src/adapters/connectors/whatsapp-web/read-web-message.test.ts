import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { messageIdOf, readWebMessage, type Self, userOf } from "./read-web-message.ts";

const SELF: Self = { phone: "4915999", lid: "888" };
const NO_ONE: Self = { phone: "", lid: undefined };
const known = { phoneOf: (lid: string) => (lid === "777" ? "49177" : undefined) };
const DIRECT = { remoteJid: "491@s.whatsapp.net", id: "A1" };
const GROUP = { remoteJid: "120@g.us", participant: "777@lid", id: "A1" };
const read = (key: object, message: object = { conversation: "hi" }, more: object = {}, self = SELF) =>
  readWebMessage({ key, messageTimestamp: 10, pushName: "Ann", message, ...more }, self, known);

describe("the user of a jid", () => {
  test.each([
    ["49170:3@s.whatsapp.net", "49170"],
    ["777@lid", "777"],
    ["120-3@g.us", "120-3"],
    [`${"1".repeat(65)}@lid`, ""],
    ["49170", ""],
    ["@lid", ""],
    [undefined, ""],
    [7, ""],
  ])("%s", (jid, expected) => {
    expect(userOf(jid)).toBe(expected);
  });
});

describe("a message", () => {
  it("of a person is read with its place, its time and its name", () => {
    expect(read(DIRECT)).toEqual({
      ...{ kind: "message", chatId: "491", isGroup: false, userId: "491", userName: "Ann", lid: undefined },
      ...{ messageId: "A1", sentAt: 10_000, text: "hi", typed: true, notes: [], files: [], addressed: true },
    });
  });

  test.each<[string, object, Partial<Record<string, unknown>>]>([
    ["a number of a device", { remoteJid: "491:3@s.whatsapp.net" }, { userId: "491", chatId: "491", lid: undefined }],
    [
      "both ids, the LID first",
      { remoteJid: "5@lid", remoteJidAlt: "491@s.whatsapp.net" },
      { userId: "491", lid: "5" },
    ],
    [
      "both ids, the number first",
      { remoteJid: "491@s.whatsapp.net", remoteJidAlt: "5@lid" },
      { userId: "491", lid: "5" },
    ],
    ["a LID that was seen", { remoteJid: "777@lid" }, { userId: "49177", chatId: "49177", lid: "777" }],
    ["a LID that was not seen", { remoteJid: "778@lid" }, { userId: "778@lid", chatId: "778@lid", lid: "778" }],
  ])("of a person with %s", (_, key, expected) => {
    expect(read({ id: "A1", ...key })).toMatchObject({ kind: "message", ...expected });
  });

  test.each<[string, object, Partial<Record<string, unknown>>]>([
    ["with a LID that was seen", {}, { userId: "49177", lid: "777" }],
    ["with both ids", { participantAlt: "492@s.whatsapp.net" }, { userId: "492", lid: "777" }],
    ["with a number", { participant: "492:1@s.whatsapp.net" }, { userId: "492", lid: undefined }],
  ])("of a group is of its writer %s", (_, key, expected) => {
    expect(read({ ...GROUP, ...key })).toMatchObject({
      chatId: "120@g.us",
      isGroup: true,
      addressed: false,
      ...expected,
    });
  });

  test.each<[string, object, string]>([
    ["no id", { remoteJid: DIRECT.remoteJid }, "a message without its id"],
    ["an empty id", { ...DIRECT, id: "" }, "a message without its id"],
    ["an id with a space", { ...DIRECT, id: "A 1" }, "a message without its id"],
    ["a long id", { ...DIRECT, id: "A".repeat(201) }, "a message without its id"],
    ["no sender", { id: "A1", remoteJid: "" }, "a message without a sender"],
    ["a group without a writer", { ...GROUP, participant: undefined }, "a message without a sender"],
  ])("with %s is passed over", (_, key, reason) => {
    expect(read(key)).toEqual({ kind: "ignored", reason: `malformed: ${reason}` });
  });

  test.each([
    ["status@broadcast", "not a chat"],
    ["491@broadcast", "not a chat"],
    ["120363@newsletter", "not a chat"],
  ])("of %s is passed over", (remoteJid, reason) => {
    expect(read({ remoteJid, id: "A1", participant: "491@s.whatsapp.net" })).toEqual({ kind: "ignored", reason });
  });

  test.each<[string, unknown, number | undefined]>([
    ["seconds", 10, 10_000],
    ["seconds as a long number", { toNumber: () => 10 }, 10_000],
    ["the beginning of time", 0, 0],
    ["the last second", 1e11, 1e14],
    ["a time after all time", 1e11 + 1, undefined],
    ["a time before all time", -1, undefined],
    ["a part of a second", 1.5, undefined],
    ["no time", undefined, undefined],
    ["a time of none", null, undefined],
  ])("with %s", (_, messageTimestamp, sentAt) => {
    const one = read(DIRECT, undefined, { messageTimestamp });
    expect("sentAt" in one ? one.sentAt : undefined).toBe(sentAt);
  });

  test.each([
    [" Ann \n Lee ", "Ann Lee"],
    ["", "491"],
    [undefined, "491"],
  ])("of someone called %j", (pushName, userName) => {
    expect(read(DIRECT, undefined, { pushName })).toMatchObject({ userName });
  });
});

describe("what our own account writes", () => {
  test.each<[string, object, Self, object]>([
    ["to someone else", { ...DIRECT, fromMe: true }, SELF, { kind: "ignored" }],
    [
      "to someone else, while our LID is not known",
      { ...DIRECT, fromMe: true },
      { phone: "4915999" },
      { kind: "ignored" },
    ],
    ["to someone else, while no one is logged in", { ...DIRECT, fromMe: true }, NO_ONE, { kind: "ignored" }],
    ["in a group", { ...GROUP, fromMe: true }, SELF, { kind: "ignored" }],
    [
      "to itself, by its number",
      { remoteJid: "4915999@s.whatsapp.net", id: "A1", fromMe: true },
      SELF,
      { userId: "4915999", chatId: "4915999", lid: "888" },
    ],
    [
      "to itself, by its LID",
      { remoteJid: "888@lid", id: "A1", fromMe: true },
      SELF,
      { userId: "4915999", lid: "888" },
    ],
    [
      "to itself, by its other id",
      { remoteJid: "9@lid", remoteJidAlt: "4915999@s.whatsapp.net", id: "A1", fromMe: true },
      SELF,
      { userId: "4915999" },
    ],
    [
      "to itself, by this program",
      { remoteJid: "888@lid", id: messageIdOf("d.0"), fromMe: true },
      SELF,
      { kind: "ignored", reason: "our own" },
    ],
  ])("%s", (_, key, self, expected) => {
    expect(read(key, undefined, {}, self)).toMatchObject(expected);
  });

  it("has an id that is made from the delivery: the same for the same one", () => {
    expect(messageIdOf("d.0")).toBe(messageIdOf("d.0"));
    expect(messageIdOf("d.0")).not.toBe(messageIdOf("d.1"));
    expect(messageIdOf("d.0")).toMatch(/^RKRY[0-9A-F]{24}$/u);
  });
});

it("a message of any form is read", () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (one, other) => {
      readWebMessage(one as never, SELF, known);
      read(DIRECT, Object(one) as object, { pushName: other });
      read(GROUP, { extendedTextMessage: one, protocolMessage: other, imageMessage: other });
    }),
  );
});
