/** Messages of a chat as messages for the engine: the text, the people whose words are in it, and the address of the answer. */
import { describe, expect, it, test } from "vitest";
import { MemoryHost } from "../../../app/testing/kit/kit-case.ts";
import {
  hasUntrustedPart,
  type IncomingMessage,
  promptText,
  typedText,
} from "../../../core/message/incoming-message.ts";
import type { Accepted } from "../../../core/ports/connector.ts";
import type { ChatMessage } from "./chat-message.ts";
import { groupWindow } from "./group-window.ts";
import { type TakeIn, takeMessage, takeNote, takeReaction } from "./take-in.ts";

const BASE: ChatMessage = {
  ...{ chatId: "5", isGroup: false, userId: "5", userName: "Ann", messageId: "3", sentAt: 10, text: "hi", typed: true },
  ...{ files: [], addressed: true },
};
const GROUP = { chatId: "-1", isGroup: true, chatTitle: "The group" };
const FILE = { fileId: "f1", name: "a.txt", what: "document" };

class NotingHost extends MemoryHost {
  readonly notes: IncomingMessage[] = [];
  async note(message: IncomingMessage): Promise<Accepted> {
    this.notes.push(message);
    return { status: "accepted", agentId: "a" as never, messageId: "a:1" as never };
  }
}

function world(more: Partial<TakeIn> = {}) {
  const host = new NotingHost();
  const deps: TakeIn = {
    ...{ channel: "chat", host, accountId: "work", self: { userId: "1", names: ["rook"] }, activation: "mention" },
    window: groupWindow(3),
    fetching: {
      files: undefined,
      download: async () => Buffer.from("x"),
    },
    ...more,
  };
  const say = (one: Partial<ChatMessage>) => takeMessage(deps, { ...BASE, ...one });
  const prompt = (): string | undefined => {
    const { text, decoration } = host.messages.at(-1) ?? {};
    return text === undefined ? undefined : promptText(typedText(text), decoration);
  };
  return { host, deps, say, last: () => host.messages.at(-1), prompt };
}

describe("a message", () => {
  test.each<[string, Partial<ChatMessage>, object]>([
    [
      "of a direct chat",
      {},
      {
        connector: "chat",
        accountId: "work",
        userId: "5",
        channelId: "5",
        peerKind: "dm",
        messageId: "3",
        sentAt: 10,
        text: "hi",
        senderName: "Ann",
        burst: "text",
        groupChannel: undefined,
        delivery: { channel: "chat", accountId: "work", to: "5", threadId: undefined },
      },
    ],
    [
      "of a group",
      GROUP,
      {
        channelId: "-1",
        peerKind: "group",
        subject: "The group",
        delivery: { to: "-1" },
      },
    ],
    ["of a channel", { ...GROUP, isChannel: true }, { peerKind: "channel" }],
    [
      "of a topic",
      { ...GROUP, threadId: 8, topic: "Plans" },
      { threadId: 8, subject: "The group", groupChannel: "Plans", space: "The group", delivery: { threadId: 8 } },
    ],
    ["of a topic without a name", { ...GROUP, threadId: 8 }, { groupChannel: "topic 8" }],
    ["of an album", { album: "a1" }, { burst: "album" }],
    ["that was changed", { revision: 2 }, { revision: 2, text: "hi", decoration: { replaces: "3" } }],
    ["that was forwarded", { forwarded: "Eve" }, { text: "hi", decoration: { forwardedFrom: "Eve" } }],
    ["of its own words", {}, { others: undefined, replyToId: undefined, files: undefined, names: ["rook"] }],
  ])("%s", async (_, one, expected) => {
    const { say, last } = world();
    expect(await say(one)).toMatchObject({ status: "accepted" });
    expect(last()).toMatchObject(expected);
  });

  test.each<[string, ChatMessage["replyTo"], string, readonly string[] | undefined]>([
    [
      "someone else",
      { messageId: "2", typed: true, userId: "6", userName: "Bob", text: "a\n b", isOurs: false },
      "[In reply to Bob: a b]\nhi",
      ["6"],
    ],
    [
      "us",
      { messageId: "2", typed: true, userId: "1", userName: "Rook", text: "a", isOurs: true },
      "[In reply to you: a]\nhi",
      undefined,
    ],
    [
      "oneself",
      { messageId: "2", typed: true, userId: "5", userName: "Ann", text: "a", isOurs: false },
      "[In reply to Ann: a]\nhi",
      undefined,
    ],
    [
      "what is not shown",
      { messageId: "2", typed: true, userId: "6", userName: "Bob", text: "", isOurs: false },
      "hi",
      ["6"],
    ],
    [
      "no one who is known",
      { messageId: "2", typed: true, userName: "someone", text: "a", isOurs: false },
      "[In reply to someone: a]\nhi",
      undefined,
    ],
  ])("quotes %s", async (_, replyTo, text, others) => {
    const { say, last, prompt } = world();
    await say({ replyTo });
    expect(last()).toMatchObject({ replyToId: "2", text: "hi" });
    expect(prompt()).toBe(text);
    expect(last()?.others).toEqual(others);
  });

  const quoted = (more: Partial<NonNullable<ChatMessage["replyTo"]>>): Partial<ChatMessage> => ({
    replyTo: { messageId: "2", typed: true, userId: "5", userName: "Ann", text: "a", isOurs: false, ...more },
  });
  test.each<[string, Partial<ChatMessage>, boolean]>([
    ["a text", {}, false],
    ["a quote of what the sender typed", quoted({}), false],
    ["a quote of the sender's own forward", quoted({ typed: false }), true],
    ["a quote of a post without a person", quoted({ userId: undefined }), true],
    ["a quote of someone else", quoted({ userId: "6" }), true],
    ["a quote of us", quoted({ userId: "1", isOurs: true }), true],
    ["a text through a bot", { typed: false }, true],
    ["a contact", { notes: ["[contact: Eve]"] }, true],
    ["the name of a file that is missing", { files: [FILE] }, true],
  ])("with %s says whether the sender typed all of it", async (_, one, expected) => {
    const { say, last } = world();
    await say(one);
    expect(hasUntrustedPart(last()?.decoration)).toBe(expected);
  });

  test.each([
    [{ forwarded: "Eve" }, "[Forwarded from Eve]\nhi"],
    [{ forwarded: "" }, "[Forwarded from someone]\nhi"],
    [{ revision: 2 }, "[This replaces message 3, which was edited]\nhi"],
    [{ notes: ["[sticker]"] }, "hi\n[sticker]"],
    [{ notes: ["[sticker]"], text: "" }, "[sticker]"],
  ])("with %j is shown to the model as %j", async (one, expected) => {
    const { say, prompt } = world();
    await say(one);
    expect(prompt()).toBe(expected);
  });
});

describe("in a group", () => {
  const heard = (messageId: string, userId: string, text: string, more: Partial<ChatMessage> = {}) => ({
    ...{ ...GROUP, messageId, userId, userName: `P${userId}`, text, addressed: false, ...more },
  });

  it("keeps unaddressed messages for the next addressed one, once", async () => {
    const { say, host, last, prompt } = world();
    for (const one of [heard("1", "6", "tea?"), heard("2", "7", "no\ncoffee"), heard("3", "5", "well")])
      expect(await say(one)).toBeUndefined();
    expect(host.messages).toEqual([]);
    await say({ ...GROUP, messageId: "4", text: "which?" });
    expect(prompt()).toBe("[Said in the group before this message]\nP6: tea?\nP7: no coffee\nP5: well\n[End]\nwhich?");
    // The sender is not one of the others.
    expect(last()?.others).toEqual(["6", "7"]);
    await say({ ...GROUP, messageId: "5", text: "and?" });
    expect(prompt()).toBe("and?");
  });

  test.each<[string, Partial<ChatMessage>, boolean]>([
    ["typed before", {}, false],
    ["forwarded before", { forwarded: "Eve" }, true],
    ["sent through a bot before", { typed: false }, true],
    ["sent as a file before", { files: [FILE] }, true],
    ["sent as a contact before", { notes: ["[contact: Eve]"] }, true],
  ])("knows whether the sender typed what the same person %s", async (_, more, expected) => {
    const { say, last } = world();
    await say(heard("1", "5", "well", more));
    await say({ ...GROUP, messageId: "2", text: "which?" });
    expect(hasUntrustedPart(last()?.decoration)).toBe(expected);
  });

  it("leaves other topics and edits out of it", async () => {
    const { say, last, prompt } = world();
    await say(heard("1", "6", "elsewhere", { threadId: 8 }));
    await say(heard("2", "6", "again", { revision: 1 }));
    await say({ ...GROUP, text: "which?" });
    expect([prompt(), last()?.others]).toEqual(["which?", undefined]);
  });

  test.each([
    ["mention", undefined, 0],
    ["always", undefined, 1],
    ["mention", "always", 1],
    ["always", "mention", 0],
  ] as const)("of an account that wants %s and a group that wants %s", async (activation, ofGroup, taken) => {
    const { say, host } = world({ activation });
    Object.assign(host, { groupActivation: async () => ofGroup });
    await say(heard("1", "6", "hello"));
    expect(host.messages).toHaveLength(taken);
  });
});

describe("a file", () => {
  it("is not fetched for a stranger", async () => {
    const files = { maxBytes: 10, put: async () => ({}) as never, read: async () => undefined };
    const asked: string[] = [];
    const download = async () => ({ refused: asked.push("a file").toString() });
    const { say, host } = world({ fetching: { files, download } });
    host.closed = true;
    expect(await say({ files: [FILE] })).toMatchObject({ status: "refused" });
    expect(asked).toEqual([]);
  });

  it("is named after the text if it is missing", async () => {
    const { say, prompt } = world();
    await say({ files: [FILE] });
    expect(prompt()).toBe('hi\n[document "a.txt" was not fetched: files are not stored here]');
    await say({ files: [FILE], text: "", messageId: "4" });
    expect(prompt()).toBe('[document "a.txt" was not fetched: files are not stored here]');
  });
});

it("a text that cannot be made is refused for good", async () => {
  const { say } = world();
  const replyTo = { messageId: "2", typed: true, userName: "Bob", text: 7 as never, isOurs: false };
  await expect(say({ replyTo })).rejects.toMatchObject({ code: "invalid_input" });
});

describe("a note", () => {
  it("has an id of its own, and the place of its message", async () => {
    const { deps, host } = world();
    const place = { chatId: "-1", isGroup: true, userId: "5", threadId: 8 };
    await takeReaction(deps, { ...place, userName: "Ann", messageId: "3", emoji: "👍", sentAt: 10, reactionId: "9" });
    await takeNote(deps, place, { id: "revoke-1", sentAt: 11, userName: "Ann", text: "gone" });
    const delivery = { channel: "chat", accountId: "work", to: "-1", threadId: 8 };
    expect(host.notes).toMatchObject([
      { messageId: "reaction-9", sentAt: 10, text: "Ann reacted with 👍 to message 3.", senderName: "Ann", delivery },
      { messageId: "revoke-1", sentAt: 11, text: "gone", userId: "5", peerKind: "group", delivery },
    ]);
  });
});
