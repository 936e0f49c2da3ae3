/** Updates of Telegram that are about other messages: answers, buttons, Stop and reactions. */
import { describe, expect, it, test } from "vitest";
import { person, privateChat } from "../../../../test/telegram/fake-telegram.ts";
import { readUpdate } from "./read-update.ts";
import { idOf, orderOf } from "./update-id.ts";

const BOT = { id: 1, username: "rook_bot" };
const GROUP = { id: -100, type: "supergroup", title: "The group" };
const base = { message_id: 3, date: 10, from: person(5), chat: privateChat(5), text: "hi" };
const read = (update: object) => readUpdate({ update_id: 9, ...update }, BOT);

describe("an answer", () => {
  const to = { ...base, message_id: 2, from: person(6), text: "the original" };
  const quoting = (more: object) => {
    const one = read({ message: { ...base, reply_to_message: to, ...more } });
    return one.kind === "message" ? one.replyTo : one;
  };
  test.each<[string, object, object | undefined]>([
    [
      "names the message, who wrote it, and what it says",
      {},
      { messageId: "2", typed: true, userId: "6", userName: "Person 6", text: "the original", isOurs: false },
    ],
    ["shows only what is quoted", { quote: { text: "orig", position: 0 } }, expect.objectContaining({ text: "orig" })],
    [
      "cuts what it quotes",
      { reply_to_message: { ...to, text: "x".repeat(1_001) } },
      expect.objectContaining({ text: "x".repeat(1_000) }),
    ],
    ["to us is ours", { reply_to_message: { ...to, from: person(1) } }, expect.objectContaining({ isOurs: true })],
    [
      "to a channel names it",
      { reply_to_message: { ...to, from: undefined, sender_chat: GROUP } },
      expect.objectContaining({ userId: undefined, userName: "The group" }),
    ],
    [
      "to no one who is named",
      { reply_to_message: { ...to, from: undefined } },
      expect.objectContaining({ userId: undefined, userName: "someone" }),
    ],
    ["to a message without an id is none", { reply_to_message: { ...to, message_id: undefined } }, undefined],
  ])("%s", (_, more, expected) => {
    expect(quoting(more)).toEqual(expected);
  });
});

describe("a button that is pressed", () => {
  const query = {
    id: "q1",
    data: "t1",
    from: person(5),
    message: { ...base, message_id: 4, chat: GROUP, from: person(1) },
  };
  it("is pressed by its person, in the chat of its message", () => {
    expect(read({ callback_query: query })).toEqual({
      ...{ kind: "press", updateId: 9, pressId: "q1", data: "t1", chatId: "-100", isGroup: true, threadId: undefined },
      ...{ userId: "5", userName: "Person 5", messageId: "4" },
    });
    const message = { ...query.message, is_topic_message: true, message_thread_id: 8 };
    expect(read({ callback_query: { ...query, message } })).toMatchObject({ threadId: 8 });
    expect(read({ callback_query: { ...query, data: "x".repeat(65) } })).toMatchObject({ data: "x".repeat(64) });
  });

  test.each([
    ["an id", { id: undefined }],
    ["data", { data: undefined }],
    ["a message", { message: undefined }],
    ["a person", { from: {} }],
    ["a chat", { message: { message_id: 4, chat: {} } }],
  ])("without %s is passed over", (_, more) => {
    expect(read({ callback_query: { ...query, ...more } })).toMatchObject({ kind: "ignored" });
  });
});

describe("Stop", () => {
  const stopped = { chat: privateChat(5), draft_id: 77 };
  test.each<[object, object]>([
    [{}, { kind: "stop", updateId: 9, chatId: "5", draftId: 77, threadId: undefined }],
    [{ message_thread_id: 8 }, { kind: "stop", updateId: 9, chatId: "5", draftId: 77, threadId: 8 }],
    [{ draft_id: undefined }, { kind: "ignored", updateId: 9, reason: "malformed: a stop without its draft" }],
    [{ chat: {} }, { kind: "ignored", updateId: 9, reason: "malformed: a stop without its draft" }],
  ])("with %j", (more, expected) => {
    expect(read({ stopped_message_generation: { ...stopped, ...more } })).toEqual(expected);
  });
});

describe("a reaction", () => {
  const emoji = (...signs: string[]) => signs.map((one) => ({ type: "emoji", emoji: one }));
  const reaction = {
    chat: GROUP,
    message_id: 2,
    user: person(5),
    date: 10,
    old_reaction: [],
    new_reaction: emoji("👍"),
  };
  const about = (more: object) => read({ message_reaction: { ...reaction, ...more } });

  it("names its person, the message, and itself by the update", () => {
    expect(about({})).toEqual({
      ...{ kind: "reaction", updateId: 9, chatId: "-100", isGroup: true, userId: "5", userName: "Person 5" },
      ...{ messageId: "2", reactionId: "9", emoji: "👍", sentAt: 10_000 },
    });
    expect(about({ chat: privateChat(5) })).toMatchObject({ isGroup: false });
  });

  test.each<[string, object, object]>([
    [
      "beside another one",
      { old_reaction: emoji("👍"), new_reaction: emoji("👍", "🎉") },
      { kind: "reaction", emoji: "🎉" },
    ],
    ["of two signs", { new_reaction: emoji("👍", "🎉") }, { emoji: "👍 🎉" }],
    ["that was taken back", { old_reaction: emoji("👍"), new_reaction: [] }, { kind: "ignored" }],
    [
      "of which one was taken back",
      { old_reaction: emoji("👍", "🎉"), new_reaction: emoji("👍") },
      { kind: "ignored" },
    ],
    ["with a sign that is paid for", { new_reaction: [{ type: "paid" }] }, { kind: "ignored" }],
    ["of no one", { user: undefined }, { kind: "ignored", reason: "an anonymous reaction" }],
    ["without a time", { date: undefined }, { kind: "ignored" }],
  ])("%s", (_, more, expected) => {
    expect(about(more)).toMatchObject(expected);
  });
});

describe("the order of updates", () => {
  test.each<[unknown, number | undefined, string]>([
    [{ update_id: 9, message: base }, 9, "5"],
    [{ update_id: 0, edited_message: { chat: GROUP } }, 0, "-100"],
    [{ update_id: 9, callback_query: { message: { chat: GROUP } } }, 9, "-100"],
    [{ update_id: 9, poll: {} }, 9, ""],
    [{ update_id: "9", message: null }, undefined, ""],
    [null, undefined, ""],
  ])("of %j is that of its chat", (update, id, order) => {
    expect([idOf(update), orderOf(update)]).toEqual([id, order]);
  });
});

it("an update of a chat with the id 0 is of that chat", () => {
  expect(orderOf({ update_id: 1, message: { chat: { id: 0 } } })).toBe("0");
});
