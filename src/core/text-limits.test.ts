import { describe, expect, it } from "vitest";
import { textSize } from "./text-limits.ts";

describe("textSize", () => {
  it.each([
    ["text", "hello", 5],
    ["numbers and flags", { a: 1, b: true, c: null }, 0],
    ["fields and lists", { text: "abc", list: ["x", { y: "zz" }] }, 3 + 1 + 1 + 1 + 1 + 2],
  ])("counts %s", (_, value, size) => {
    expect(textSize(value)).toBe(size);
  });

  it("counts a value without an end as too long", () => {
    const loop: { self?: object } = {};
    loop.self = loop;
    expect(textSize(loop)).toBe(Number.POSITIVE_INFINITY);
  });
});
