import { describe, expect, it } from "vitest";
import type { Block, Entry } from "../../../core/history/entry.ts";
import type { SessionKey } from "../../../core/ids.ts";
import { cleanMessage } from "./clean-history.ts";
import { filePrefix, isMarkedName, shortened } from "./long-text.ts";

const entry = (role: string, ...content: readonly Block[]): Entry =>
  ({ type: "message", id: "e", parentId: null, role, content, timestamp: 7, toolName: "look" }) as Entry;
const text = (words: string): Block => ({ type: "text", text: words });
const call: Block = { type: "toolCall", id: "c", name: "look", arguments: { at: "door" } } as never;

describe("a message for another agent", () => {
  it.each<[string, Entry, boolean, string | undefined]>([
    ["the words", entry("user", text(" hello "), text("you")), false, "hello \nyou"],
    ["no thoughts", entry("assistant", { type: "thinking", thinking: "hm" } as never, text("yes")), false, "yes"],
    ["no data of images", entry("user", { type: "image", data: "AAAA", mimeType: "image/png" }), false, "<image>"],
    ["no calls", entry("assistant", text("I look"), call), false, "I look"],
    ["calls on request", entry("assistant", call), true, '[calls look {"at":"door"}]'],
    ["no results", entry("tool", text("open")), false, undefined],
    ["results on request", entry("tool", text("open")), true, "open"],
    ["no silent answers", entry("assistant", text(" NO_REPLY ")), false, undefined],
    ["such words of a person", entry("user", text("NO_REPLY")), false, "NO_REPLY"],
    ["nothing empty", entry("assistant", text(" ")), false, undefined],
    ["no other entries", { type: "custom", id: "e", parentId: null, name: "x", data: 1 } as Entry, true, undefined],
  ])("has %s", (_, given, includeTools, shown) => {
    expect(cleanMessage(given, includeTools)?.text).toBe(shown);
  });

  it("is cut beyond its limit, never inside of a character", () => {
    const most = "x".repeat(4_000);
    expect(cleanMessage(entry("user", text(most)), false)).toEqual({ role: "user", text: most, at: 7, tool: "look" });
    expect(cleanMessage(entry("user", text(`${most}y`)), false)?.text).toBe(`${most}… [4001 characters]`);
    const halved = cleanMessage(entry("user", text(`${most.slice(1)}🙂`)), false)?.text ?? "";
    expect(halved.isWellFormed()).toBe(true);
  });
});

describe("a text that may be too long", () => {
  const key = "agent:main:ann" as SessionKey;
  const sent = async (words: string, maxCharacters: number, untrusted?: boolean) => {
    const written: string[] = [];
    const write = async (name: string) => `/files/${written.push(name) && name}`;
    return { text: await shortened({ write } as never, words, { maxCharacters, to: key, untrusted }), written };
  };

  it("is sent as it is up to the limit", async () => {
    expect(await sent("abcd", 4)).toEqual({ text: "abcd", written: [] });
    expect((await sent("abcde", 4)).text).toMatch(
      /^abcd\n\n\[4 of 5 characters\. The whole text is in \/files\/message-/,
    );
    expect((await sent("x".repeat(5_000), 4_000)).text).toContain("[1000 of 5000 characters.");
    expect((await sent("abc🙂", 4)).text.isWellFormed()).toBe(true);
  });

  it("has a file of its own for each recipient and text, which says if it is untrusted", async () => {
    const [[plain], [again], [other], [marked]] = (
      await Promise.all([sent("abcde", 4), sent("abcde", 4), sent("abcdf", 4), sent("abcde", 4, true)])
    ).map(({ written }) => written) as [string[], string[], string[], string[]];
    expect(plain).toBe(again);
    expect(new Set([plain, other, marked]).size).toBe(3);
    expect([plain, marked].map((name) => isMarkedName(name ?? "", key))).toEqual([false, true]);
    expect(isMarkedName(marked ?? "", "agent:main:bob" as SessionKey)).toBe(false);
    expect(filePrefix(key)).not.toBe(filePrefix("agent:main:bob" as SessionKey));
  });
});
