/** One update of Telegram: who said what where, and what is passed over. */
import { describe, expect, it, test } from "vitest";
import { person, privateChat } from "../../../../test/telegram/fake-telegram.ts";
import { readUpdate } from "./read-update.ts";

it("two edits of a message in one second are two revisions, and the same update is the same one", () => {
  const edit = (update_id: number, text: string) => ({
    update_id,
    edited_message: { message_id: 3, date: 10, edit_date: 20, from: person(5), chat: privateChat(5), text },
  });
  const read = (update: object) => readUpdate(update, { id: 1, username: "rook_bot" }) as { revision: number };
  expect(read(edit(1, "one")).revision).not.toBe(read(edit(2, "two")).revision);
  expect(read(edit(1, "one"))).toEqual(read(edit(1, "one")));
  expect(read(edit(1, "one"))).toMatchObject({ messageId: "3", sentAt: 20_000 });
});

const BOT = { id: 1, username: "Rook_bot" };
const GROUP = { id: -100, type: "supergroup", title: " The \n group " };
const base = { message_id: 3, date: 10, from: person(5), chat: privateChat(5), text: "hi" };
const read = (update: object) => readUpdate({ update_id: 9, ...update }, BOT);
const message = (more: object = {}) => read({ message: { ...base, ...more } });

describe("a message", () => {
  it("of a person is read with its place, its time and its name", () => {
    expect(message()).toEqual({
      ...{ kind: "message", updateId: 9, chatId: "5", isGroup: false, isChannel: false, chatTitle: undefined },
      ...{
        userId: "5",
        userName: "Person 5",
        messageId: "3",
        sentAt: 10_000,
        text: "hi",
        typed: true,
        notes: [],
        files: [],
        addressed: true,
      },
      ...{ revision: undefined, threadId: undefined, topic: undefined, album: undefined, replyTo: undefined },
      forwarded: undefined,
    });
  });

  const GIFS = { id: 8, is_bot: true, first_name: "Gifs" };
  const about = (more: object) => ({
    reply_to_message: { message_id: 2, date: 1, chat: { id: 5, type: "private" }, ...more },
  });
  test.each<[string, object, object]>([
    ["came through a bot", { via_bot: GIFS }, { typed: false }],
    ["a bot of a business sent", { sender_business_bot: GIFS }, { typed: false }],
    ["another bot wrote", { from: GIFS }, { typed: false }],
    ["answers a typed text", about({ from: person(5), text: "a" }), { typed: true, replyTo: { typed: true } }],
    [
      "answers the sender's own forward",
      about({ from: person(5), text: "a", forward_origin: { type: "hidden_user", sender_user_name: "Eve", date: 1 } }),
      { typed: true, replyTo: { typed: false } },
    ],
    [
      "answers a text through a bot",
      about({ from: person(5), text: "a", via_bot: GIFS }),
      { replyTo: { typed: false } },
    ],
    [
      "answers a contact",
      about({ from: person(5), contact: { first_name: "E", phone_number: "1" } }),
      { replyTo: { typed: false } },
    ],
    ["answers a post of a channel", about({ sender_chat: GROUP, text: "a" }), { replyTo: { userId: undefined } }],
  ])("tells whether a message was typed that %s", (_, more, expected) => {
    expect(message(more)).toMatchObject(expected);
  });

  test.each<[string, object, object]>([
    [
      "a group",
      { chat: GROUP },
      { chatId: "-100", isGroup: true, isChannel: false, chatTitle: "The group", addressed: false },
    ],
    ["a topic", { chat: GROUP, is_topic_message: true, message_thread_id: 8 }, { threadId: 8 }],
    ["a chain of replies", { chat: GROUP, message_thread_id: 8 }, { threadId: undefined }],
    ["a last name", { from: { ...person(5), last_name: "Lee" } }, { userName: "Person 5 Lee" }],
    ["only a user name", { from: { id: 5, is_bot: false, first_name: "", username: "ann" } }, { userName: "ann" }],
    ["no name", { from: { id: 5, is_bot: false, first_name: " " } }, { userName: "5" }],
    [
      "a group as its sender",
      { chat: GROUP, sender_chat: { id: -7, type: "channel", title: "News" } },
      { userId: "-7", userName: "News" },
    ],
    ["its own group as its sender", { chat: GROUP, sender_chat: GROUP }, { userId: "5" }],
    ["no sender but its chat", { chat: GROUP, from: undefined }, { userId: "-100", userName: "The group" }],
    ["another bot as its sender", { from: { ...person(6), is_bot: true } }, { kind: "message", userId: "6" }],
    ["a person with the id of the bot as its sender", { from: { ...person(1), is_bot: false } }, { kind: "message" }],
    ["this bot as its sender", { from: { ...person(1), is_bot: true } }, { kind: "ignored", reason: "of this bot" }],
    ["a new member", { new_chat_members: [person(6)] }, { kind: "ignored", reason: "a notice of the chat" }],
    ["the beginning of time", { date: 0 }, { sentAt: 0 }],
    ["an album", { media_group_id: "a".repeat(65) }, { album: "a".repeat(64) }],
    [
      "a user who is forwarded",
      { forward_origin: { type: "user", sender_user: person(6), date: 1 } },
      { forwarded: "Person 6" },
    ],
    [
      "a hidden user who is forwarded",
      { forward_origin: { type: "hidden_user", sender_user_name: "Eve", date: 1 } },
      { forwarded: "Eve" },
    ],
    [
      "a group that is forwarded",
      { forward_origin: { type: "chat", sender_chat: GROUP, date: 1 } },
      { forwarded: "The group" },
    ],
    [
      "a channel that is forwarded",
      { forward_origin: { type: "channel", chat: GROUP, date: 1, message_id: 1 } },
      { forwarded: "The group" },
    ],
    ["something new that is forwarded", { forward_origin: { type: "moon" } }, { forwarded: "someone" }],
  ])("with %s", (_, more, expected) => {
    expect(message(more)).toMatchObject(expected);
  });

  it("of a channel is of the channel, and an edit of it has the number of the update", () => {
    const channel_post = { ...base, from: undefined, chat: { id: -9, type: "channel", title: "News" } };
    expect(read({ channel_post })).toMatchObject({ isChannel: true, isGroup: true, userId: "-9", revision: undefined });
    const edited_channel_post = { ...channel_post, edit_date: 20 };
    expect(read({ edited_channel_post })).toMatchObject({ revision: 9, sentAt: 20_000 });
  });

  it("of a topic has the name of the topic, and is no answer to its beginning", () => {
    const reply_to_message = { ...base, message_id: 8, forum_topic_created: { name: " Plans " } };
    const topic = { chat: GROUP, is_topic_message: true, message_thread_id: 8, reply_to_message };
    expect(message(topic)).toMatchObject({ topic: "Plans", replyTo: undefined });
    expect(message({ ...topic, is_topic_message: false })).toMatchObject({ topic: undefined });
  });

  test.each<[string, object]>([
    ["no id", { message_id: undefined }],
    ["an id that is a text", { message_id: "3" }],
    ["no chat", { chat: undefined }],
    ["a chat without its id", { chat: { type: "private" } }],
    ["no time", { date: undefined }],
    ["a time before all time", { date: -1 }],
    ["a time after all time", { date: 1e11 }],
    ["a change at a time that is none", { edit_date: "x" }],
    ["a sender without an id", { from: { first_name: "x" } }],
    ["a text that is none", { text: 7 }],
  ])("with %s is malformed", (_, more) => {
    expect(message(more)).toMatchObject({
      kind: "ignored",
      updateId: 9,
      reason: expect.stringMatching(/^malformed: /u),
    });
  });

  test.each<[unknown, object]>([
    [null, { kind: "ignored", reason: "not an object" }],
    ["x", { kind: "ignored", reason: "not an object" }],
    [{ message: base }, { kind: "ignored", reason: "no update_id" }],
    [{ update_id: 1.5 }, { kind: "ignored", reason: "no update_id" }],
    [
      { update_id: 9, poll: {} },
      { kind: "ignored", updateId: 9, reason: "not handled: poll" },
    ],
    [{ update_id: 9 }, { kind: "ignored", updateId: 9, reason: "not handled: nothing" }],
  ])("that is none is passed over: %j", (update, expected) => {
    expect(readUpdate(update, BOT)).toEqual(expected);
  });
});

describe("in a group", () => {
  const entity = (type: string, offset: number, length: number, more: object = {}) => [
    { type, offset, length, ...more },
  ];
  test.each<[string, object, boolean]>([
    ["a text speaks to no one", { text: "hi" }, false],
    ["our name speaks to us, however it is written", { text: "hi @ROOK_bot", entities: entity("mention", 3, 9) }, true],
    ["our name that is not marked does not", { text: "hi @rook_bot" }, false],
    [
      "another name that begins like ours does not",
      { text: "@rook_bottle", entities: entity("mention", 0, 12) },
      false,
    ],
    [
      "our name under a picture speaks to us",
      { text: undefined, caption: "@rook_bot", caption_entities: entity("mention", 0, 9) },
      true,
    ],
    ["a link to us speaks to us", { text: "Rook", entities: entity("text_mention", 0, 4, { user: { id: 1 } }) }, true],
    [
      "a link to someone else does not",
      { text: "Rook", entities: entity("text_mention", 0, 4, { user: { id: 2 } }) },
      false,
    ],
    ["a command for us speaks to us", { text: "/stop@rook_bot", entities: entity("bot_command", 0, 14) }, true],
    ["a command for anyone does not", { text: "/stop", entities: entity("bot_command", 0, 5) }, false],
    ["a command in the middle does not", { text: "x /stop@rook_bot", entities: entity("bot_command", 2, 14) }, false],
    ["an answer to us speaks to us", { reply_to_message: { ...base, from: { ...person(1), is_bot: true } } }, true],
    ["an answer to someone else does not", { reply_to_message: { ...base, from: person(2) } }, false],
  ])("%s", (_, more, addressed) => {
    expect(message({ chat: GROUP, ...more })).toMatchObject({ kind: "message", addressed });
  });
});
