import { describe, expect, test } from "vitest";
import type { ModelMessage } from "../../../core/ports/model.ts";
import { call, image, message, text } from "./entries.test-kit.ts";
import { conversationChunks } from "./serialise.ts";

const lines = (...messages: ModelMessage[]): readonly string[] =>
  conversationChunks(messages, 100_000).flatMap((chunk) => chunk.split("\n\n"));

describe("conversationChunks", () => {
  test.each<[string, ModelMessage, string[]]>([
    ["of a person", message("user", text("a"), text("b")), ["[User]: a\nb"]],
    ["without words", message("user"), []],
    ["with an image", message("user", image), ["[User]: <image>"]],
    ["of a tool", message("tool", text("")), ["[Tool result]: "]],
    [
      "of an assistant",
      message(
        "assistant",
        { type: "thinking", thinking: "hm" },
        text("yes"),
        call("1", "read", { path: "/a", n: 1, x: undefined }),
        call("2", "ls"),
      ),
      ["[Assistant thinking]: hm", "[Assistant]: yes", '[Assistant tool calls]: read(path="/a", n=1, x=null); ls()'],
    ],
    ["of an assistant that says nothing", message("assistant", { type: "thinking", thinking: " " }, text(" ")), []],
  ])("%s", (_title, one, texts) => {
    expect(lines(one)).toEqual(texts);
  });

  test("cuts what tools have said, what was thought and what was asked of tools", () => {
    const long = "x".repeat(2_001);
    const without = (one: string) => one.replace(/\n\[…[^\]]*\]\n/u, "").length;
    const [thought, asked] = lines(
      message("assistant", { type: "thinking", thinking: long }, call("1", "t", { a: long })),
    );
    expect(without(thought ?? "")).toBe("[Assistant thinking]: ".length + 2_000);
    expect(without(asked ?? "")).toBe("[Assistant tool calls]: t()".length + 2_000);
    expect(without(lines(message("tool", text(long)))[0] ?? "")).toBe("[Tool result]: ".length + 2_000);
    expect(lines(message("user", text(long)))[0]).toHaveLength("[User]: ".length + 2_001);
  });

  test("is divided into portions, in order, with nothing left out", () => {
    const words = (n: number, size: number) => message("user", text(String(n).padStart(size, "0")));
    // A portion has at least 400 characters.
    const messages = Array.from({ length: 6 }, (_, n) => words(n, 192));
    const chunks = conversationChunks(messages, 1);
    expect(chunks).toHaveLength(6);
    expect(conversationChunks(messages, 100.5)).toHaveLength(3);
    expect(conversationChunks(messages, 100.5)[0]).toHaveLength(402);
    expect(chunks.join("")).toContain("5");
    const [first = "", second = ""] = conversationChunks([words(1, 700)], 1);
    expect([first.length, second.length]).toEqual([400, 308]);
    expect(conversationChunks([], 100)).toEqual([]);
  });

  test("beyond twelve portions is cut shorter, beyond twenty-four without its oldest part", () => {
    const many = (count: number) =>
      Array.from({ length: count }, (_, n) => message("tool", text(`${n} ${"y".repeat(1_000)}`)));
    expect(conversationChunks(many(4), 100)).toHaveLength(12);
    const shorter = conversationChunks(many(10), 100);
    expect(shorter.length).toBeLessThanOrEqual(24);
    expect(shorter[0]).not.toContain("the oldest part is left out");
    // Texts of people are cut so far that all of them together take about twelve portions.
    const long = Array.from({ length: 12 }, (_, n) => message("user", text(`${n} ${"y".repeat(5_000)}`)));
    expect(conversationChunks(long, 100)).toHaveLength(12);
    const most = conversationChunks(many(200), 100);
    expect(most).toHaveLength(24);
    expect(most[0]).toMatch(/^\[… the oldest part is left out …\]\n\n/);
    expect(most[1]).not.toContain("the oldest part");
    expect(most.at(-1)).toContain("199 y");
    for (const chunk of most) expect(chunk.length).toBeLessThanOrEqual(400);
  });
});
