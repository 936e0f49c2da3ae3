import { describe, expect, it, test } from "vitest";
import { type Posted, readPosted } from "./read-posted.ts";

const NOW = 1_750_000_000_000;
const MINIMAL = { id: "m1", from: "ann", text: "hi" };
const read = (more: object = {}) => readPosted({ ...MINIMAL, ...more }, NOW) as Posted;

describe("a message that a program posts", () => {
  it("with only what is needed is of a direct chat with its sender, said now", () => {
    expect(read()).toEqual({
      ...{ chatId: "ann", userId: "ann", userName: "ann", messageId: "m1", text: "hi", typed: true, sentAt: NOW },
      ...{ isGroup: false, addressed: true, files: [], contents: new Map() },
      ...{ chatTitle: undefined, threadId: undefined, revision: undefined, replyTo: undefined },
    });
  });

  test.each<[string, object, Partial<Posted>]>([
    ["a chat", { chat: "room" }, { chatId: "room", userId: "ann", isGroup: false }],
    ["a group", { chat: "room", group: true, title: "Room" }, { isGroup: true, addressed: true, chatTitle: "Room" }],
    ["a group that it does not speak to", { chat: "room", group: true, addressed: false }, { addressed: false }],
    ["a direct chat that it does not speak to", { addressed: false }, { addressed: true }],
    ["a name in two lines", { name: " Ann \n Lee " }, { userName: "Ann Lee" }],
    ["an empty name", { name: "  " }, { userName: "ann" }],
    ["a thread", { thread: "t1" }, { threadId: "t1" }],
    ["a change", { revision: 0 }, { revision: 0, messageId: "m1" }],
    ["its time", { sentAt: 5 }, { sentAt: 5 }],
    ["the beginning of time", { sentAt: 0 }, { sentAt: 0 }],
    ["an id with spaces around it", { id: " m2 " }, { messageId: "m2" }],
    [
      "what it answers",
      { replyTo: "m0" },
      { replyTo: { messageId: "m0", typed: false, userName: "", text: "", isOurs: false } },
    ],
  ])("with %s", (_, more, expected) => {
    expect(read(more)).toMatchObject(expected);
  });

  it("keeps the content of each file beside its name", () => {
    const files = [
      { name: "a.txt", data: "YQ==" },
      { name: "b.txt", data: "Yg==" },
    ];
    const { files: named, contents, text } = read({ text: undefined, files });
    expect(named.map(({ fileId, name }) => [name, contents.get(fileId)])).toEqual([
      ["a.txt", "YQ=="],
      ["b.txt", "Yg=="],
    ]);
    expect(text).toBe("");
  });

  test.each([
    ["no object", undefined, "the body: "],
    ["a text", "hello", "the body: "],
    ["no id", { ...MINIMAL, id: undefined }, "id: "],
    ["an empty id", { ...MINIMAL, id: " " }, "id: "],
    ["a long id", { ...MINIMAL, id: "x".repeat(251) }, "id: "],
    ["no sender", { ...MINIMAL, from: undefined }, "from: "],
    ["only spaces", { ...MINIMAL, text: " \n" }, "text: a message without text and files"],
    ["a time that is none", { ...MINIMAL, sentAt: 1.5 }, "sentAt: "],
    ["a revision below zero", { ...MINIMAL, revision: -1 }, "revision: "],
    ["a file that is not base64", { ...MINIMAL, files: [{ name: "a", data: "?" }] }, "files.0.data: "],
    ["too many files", { ...MINIMAL, files: Array(21).fill({ name: "a", data: "" }) }, "files: "],
  ])("with %s is wrong, and it says where", (_, body, where) => {
    expect(readPosted(body, NOW)).toEqual({ wrong: expect.stringMatching(new RegExp(`^${where}`, "u")) });
  });

  test.each([
    ["an id of 250 characters", { id: "x".repeat(250) }],
    ["twenty files", { files: Array(20).fill({ name: "a", data: "" }) }],
  ])("may have %s", (_, more) => {
    expect(read(more)).not.toHaveProperty("wrong");
  });
});
