/** Groups, topics, quotes, edits, albums, reactions, and what chats show of a run: against the whole engine. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { FakeTelegram, type Json, person, privateChat } from "../../../../test/telegram/fake-telegram.ts";
import { createRookery, type Rookery } from "../../../app/library/create-rookery.ts";
import { virtualClock } from "../../../app/testing/clock.ts";
import { lastText, type ModelCall, type Reply, stall } from "../../../app/testing/model.ts";
import { scripted } from "../../../app/testing/scripted.ts";

const OWNER = 7;
const clock = virtualClock();
let fake: FakeTelegram;
let second: FakeTelegram;
let rookery: Rookery;
const prompts: string[] = [];
const systems: string[] = [];

type Answer = (call: ModelCall) => Reply | Promise<Reply>;
const echo: Answer = ({ request }) => `answer to ${lastText(request)}`;
let script: Answer = echo;

beforeAll(async () => {
  fake = await new FakeTelegram({ clock }).start();
  second = await new FakeTelegram({ clock, token: "999:other", username: "other_bot" }).start();
  const model = scripted(
    ...Array.from({ length: 300 }, () => (call: ModelCall): Reply | Promise<Reply> => {
      prompts.push(lastText(call.request));
      systems.push(call.request.system ?? "");
      return script(call);
    }),
  );
  rookery = await createRookery({
    home: "memory",
    clock,
    model,
    config: {
      connectors: {
        telegram: { token: "123456:fake-token", apiRoot: fake.url },
        other: {
          kind: "telegram",
          token: second.token,
          apiRoot: second.url,
          groups: { activation: "always" },
        },
      },
      owner: { accounts: [`telegram:${OWNER}`] },
      people: { unknown: "guest" },
    },
  });
});

afterAll(async () => {
  await fake.during(rookery.close());
  await fake.close();
  await second.close();
});

const photo = (id: string): Json => ({ photo: [{ file_id: id, file_unique_id: id, width: 9, height: 9 }] });
const inTopic = (thread: number, name = "Plans"): Json => ({
  is_topic_message: true,
  message_thread_id: thread,
  reply_to_message: {
    message_id: thread,
    date: 1,
    chat: { id: -1, type: "supergroup" },
    forum_topic_created: { name, icon_color: 1 },
  },
});
const keys = async (): Promise<readonly string[]> =>
  (await rookery.agents.list()).items.map(({ sessionKey }) => sessionKey);

describe("a topic", () => {
  it("is a conversation of its own, answered in the topic, and the model knows its name", async () => {
    fake.sayIn(-200, 41, "@rook_bot in the topic", inTopic(5));
    await fake.until(() => fake.textsTo(-200).length === 1);
    fake.sayIn(-200, 41, "@rook_bot in the main view");
    await fake.until(() => fake.textsTo(-200).length === 2);
    expect(fake.sent.filter(({ chat }) => chat === "-200").map(({ thread }) => thread)).toEqual([5, undefined]);
    const ofGroup = (await keys()).filter((key) => key.includes("-200"));
    expect(ofGroup.toSorted()).toEqual(["agent:main:telegram:group:-200", "agent:main:telegram:group:-200:thread:5"]);
    expect(systems.at(-2)).toContain('You are in "Plans" in the group "Group 200".');
    expect(systems.at(-1)).toContain('You are in the group "Group 200".');
    expect(systems.at(-1)).toContain("The owner writes there as telegram:7.");
  });

  it("that is gone: the message goes to the chat itself, once", async () => {
    fake.fail("sendMessage", { answer: { code: 400, description: "Bad Request: message thread not found" } });
    fake.sayIn(-201, 41, "@rook_bot hello", inTopic(6));
    await fake.until(() => fake.textsTo(-201).length === 1);
    await fake.during(rookery.settled());
    expect(fake.sent.filter(({ chat }) => chat === "-201").map(({ thread }) => thread)).toEqual([undefined]);
  });
});

describe("what people do with messages", () => {
  it("a reply brings the quote with it, and who said it", async () => {
    const from = { ...person(43), first_name: "Ann" };
    const reply_to_message = { message_id: 3, date: 1, from, chat: privateChat(42), text: "the long original" };
    fake.say(42, "what about this?", { reply_to_message, quote: { text: "original", position: 9 } });
    await fake.until(() => fake.textsTo(42).length === 1);
    expect(prompts.at(-1)).toContain("[In reply to Ann: original]\nwhat about this?");
  });

  it("an edit is a message that says what it replaces, also while the run of the first one is active", async () => {
    const release = Promise.withResolvers<Reply>();
    script = (call) => stall(call, release.promise, "so far");
    const id = fake.say(44, "lunch at noon");
    await fake.until(() => prompts.at(-1) === "lunch at noon");
    script = echo;
    fake.edit(44, id, "lunch at one");
    await fake.until(() => fake.pending === 0);
    release.resolve("noon then");
    await fake.until(() => fake.textsTo(44).length === 2);
    expect(fake.textsTo(44)[0]).toBe("noon then");
    expect(fake.textsTo(44)[1]).toContain(`[This replaces message ${id}, which was edited]\nlunch at one`);
  });

  it("the photos of an album that come in two polls are one prompt", async () => {
    for (const name of ["one", "two"]) fake.files.set(name, Buffer.from(`\x89PNG\r\n\x1a\n${name}`));
    const before = prompts.length;
    const album = { media_group_id: "album-1" };
    fake.say(45, undefined as never, { ...album, ...photo("one"), caption: "look" });
    await fake.until(() => fake.pending === 0);
    fake.say(45, undefined as never, { ...album, ...photo("two") });
    await fake.until(() => fake.textsTo(45).length === 1);
    await fake.during(rookery.settled());
    expect(prompts.length - before).toBe(1);
    expect(prompts.at(-1)).toContain("look");
    expect(prompts.at(-1)?.match(/photo\.jpg/gu)).toHaveLength(2);
  });

  it("a reaction is a note in the history and starts no run", async () => {
    fake.say(46, "hi");
    await fake.until(() => fake.textsTo(46).length === 1);
    const before = prompts.length;
    const reaction = { chat: privateChat(46), message_id: 1, user: person(46), date: fake.now(), old_reaction: [] };
    fake.push({ message_reaction: { ...reaction, new_reaction: [{ type: "emoji", emoji: "🎉" }] } });
    await fake.until(() => fake.pending === 0);
    await fake.during(rookery.settled());
    expect(prompts.length).toBe(before);
    script = ({ request }) => JSON.stringify(request.messages);
    fake.say(46, "and?");
    await fake.until(() => fake.textsTo(46).length > 1);
    script = echo;
    expect(fake.textsTo(46).join("")).toContain("Person 46 reacted with 🎉 to message 1.");
  });

  it.each([
    ["a contact", { contact: { first_name: "Bob", phone_number: "+49 1" } }, "[contact: Bob, +49 1]"],
    ["a sticker", { sticker: { file_id: "s", file_unique_id: "s", emoji: "😀", is_animated: true } }, "[sticker 😀]"],
    [
      "a voice message",
      { voice: { file_id: "none", file_unique_id: "v", duration: 1 } },
      '[voice message "voice.ogg" was not fetched',
    ],
    ["a video", { video: { file_id: "none", file_unique_id: "v", duration: 1 } }, '[video "video.mp4" was not fetched'],
    ["something new", { hologram: { depth: 3 } }, "[a message that cannot be shown here: hologram]"],
  ] as const)("%s is shown or named", async (_, content, expected) => {
    const chat = 47;
    const before = fake.textsTo(chat).length;
    fake.say(chat, undefined as never, content);
    await fake.until(() => fake.textsTo(chat).length > before);
    expect(prompts.at(-1)).toContain(expected);
  });
});

describe("a group that wants every message", () => {
  it("is answered without a mention, is told how to be silent, and the silence is sent to no one", async () => {
    second.sayIn(-300, 50, "just talking");
    await second.until(() => second.textsTo(-300).length === 1);
    expect(systems.at(-1)).toContain("otherwise reply with exactly NO_REPLY");
    script = () => "NO_REPLY";
    const before = prompts.length;
    second.sayIn(-300, 51, "still talking");
    await second.until(() => prompts.length === before + 1);
    await second.during(rookery.settled());
    expect(second.textsTo(-300)).toHaveLength(1);
    script = echo;
    second.sayIn(-300, 51, "/activation@other_bot mention");
    await second.until(() => second.textsTo(-300).length === 2);
    expect(second.textsTo(-300)[1]).toContain("You may not use /activation");
    second.sayIn(-300, OWNER, "/activation@other_bot mention");
    await second.until(() => second.textsTo(-300).length === 3);
    second.sayIn(-300, 51, "and now?");
    await second.until(() => second.pending === 0);
    await second.during(rookery.settled());
    expect(second.textsTo(-300)).toHaveLength(3);
  });

  it("of a person who writes to two bots is answered by the bot that it was sent to", async () => {
    second.say(60, "to the other bot");
    await second.until(() => second.textsTo(60).length === 1);
    fake.say(60, "to the first bot");
    await fake.until(() => fake.textsTo(60).length === 1);
    // Both are one conversation, so the second message may count as one that waited for the end of the first run.
    expect([fake.textsTo(60), second.textsTo(60)]).toEqual([
      [expect.stringContaining("to the first bot")],
      ["answer to to the other bot"],
    ]);
  });
});

describe("what a chat shows of a run", () => {
  it("in a group one status message, edited while the run works and deleted at its end", async () => {
    const release = Promise.withResolvers<Reply>();
    script = (call) => stall(call, release.promise, "half an answer");
    fake.sayIn(-400, 41, "@rook_bot slow");
    await fake.until(() => fake.textsTo(-400).length === 1);
    const [status] = fake.sent.filter(({ chat }) => chat === "-400");
    expect(status).toMatchObject({ text: "⏳ ✍️", args: { disable_notification: true } });
    script = echo;
    release.resolve("the answer");
    await fake.until(() => fake.textsTo(-400).includes("the answer") && fake.textsTo(-400).length === 1);
    expect(fake.drafts.some(({ chat_id }) => chat_id === -400)).toBe(false);
  });

  it("with /verbose the calls and, with full, their results", async () => {
    fake.say(OWNER, "/verbose full");
    await fake.until(() => fake.textsTo(OWNER).length === 1);
    script = ({ request }) =>
      request.messages.at(-1)?.role === "tool" ? "done" : { call: [{ name: "current_time", with: {} }] };
    fake.say(OWNER, "what time is it?");
    await fake.until(() => fake.textsTo(OWNER).at(-1) === "done");
    script = echo;
    expect(fake.textsTo(OWNER).some((text) => /^🛠️ current_time \{\}\n.+/su.test(text))).toBe(true);
  });
});
