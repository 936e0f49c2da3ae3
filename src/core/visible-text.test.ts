import { describe, expect, it } from "vitest";
import { visibleLine, visibleText } from "./visible-text.ts";

describe("visibleText", () => {
  it.each([
    ["ls -la ~/Küche 日本語 😀\n\tnext", "ls -la ~/Küche 日本語 😀\n\tnext"],
    ["a\u202eb\u2066c\u200f", "a<U+202E>b<U+2066>c<U+200F>"],
    ["rm\u200b -rf\u00ad /\ufeff", "rm<U+200B> -rf<U+00AD> /<U+FEFF>"],
    ["a\u00a0b\u3000c\u2028d", "a<U+00A0>b<U+3000>c<U+2028>d"],
    ["a\rb\u001b[2J\u0007", "a<U+000D>b<U+001B>[2J<U+0007>"],
    ["\u3164\u115f\u2800\u{e0041}\ufe0f", "<U+3164><U+115F><U+2800><U+E0041><U+FE0F>"],
    ["אב/1", "<U+05D0><U+05D1>/1"],
    ["\ud800x", "<U+D800>x"],
    ["é\u0301\u0301\u0301\u0301", "é\u0301\u0301\u0301<U+0301>"],
    ["one\r\ntwo", "one\ntwo"],
    [`a${" ".repeat(50)}b`, "a<50 spaces>b"],
    ["a\n\n\n\n\nb", "a\n<4 empty lines>\nb"],
  ])("shows %j as %j", (text, shown) => {
    expect(visibleText(text)).toBe(shown);
    expect(visibleText(shown)).toBe(shown);
  });

  it("has one line if it is asked to", () => {
    expect(visibleLine("a\nb\tc")).toBe("a<U+000A>b<U+0009>c");
  });
});
