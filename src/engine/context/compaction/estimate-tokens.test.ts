import { describe, expect, it, test } from "vitest";
import type { Block, Entry } from "../../../core/history/entry.ts";
import type { ModelMessage } from "../../../core/ports/model.ts";
import { EMPTY_SIZE, estimateMessages, estimateText, estimateTools, sizeWith, tokensIn } from "./estimate-tokens.ts";

const message = (...content: Block[]): ModelMessage => ({ role: "user", content });
const data = "A".repeat(100_000);
const IMAGE = { type: "image", data, mimeType: "image/png" };

test.each<[string, ModelMessage, number]>([
  ["a text", message({ type: "text", text: "12345" }), 2],
  ["nothing", message(), 0],
  ["a thought", message({ type: "thinking", thinking: "12345678" }), 2],
  ["an image, however large", message({ type: "image", data, mimeType: "image/png" }), 1_200],
  ["a file of an unknown length", message({ type: "text", text: "1234", file: { id: "f", as: "text" } }), 1],
  ["a file", message({ type: "text", text: "1234", file: { id: "f", as: "text", characters: 9 } }), 4],
  ["a picture", message({ type: "text", text: "1234", file: { id: "f", as: "image", characters: 9 } }), 1_201],
  [
    "several blocks together",
    message({ type: "text", text: "12" }, { type: "thinking", thinking: "34" }, { type: "text", text: "5" }),
    2,
  ],
  ["null and numbers in a call", message({ type: "toolCall", id: "1", name: "n", arguments: { a: null, b: 5 } }), 5],
  [
    "two images in a list",
    message({ type: "toolCall", id: "1", name: "n", arguments: { a: [IMAGE, IMAGE] } }),
    Math.ceil((1 + '{"a":["",""]}'.length + 2 * 4_800) / 4),
  ],
  ["a call", message({ type: "toolCall", id: "1", name: "read", arguments: { path: "/a" } }), 5],
  [
    "an image inside a call",
    message({ type: "toolCall", id: "1", name: "show", arguments: { it: { type: "image", data, mimeType: "x" } } }),
    1_204,
  ],
])("estimates the tokens of %s", (_, one, tokens) => {
  expect(estimateMessages([one])).toBe(tokens);
});

test.each([
  ["lists", (inner: unknown) => [inner]],
  ["objects", (inner: unknown) => ({ it: inner })],
])("an image in %s counts as one as deep as six levels, and below as the text it is", (_, around) => {
  const nested = (levels: number): number => {
    let value: unknown = { type: "image", data };
    for (let n = 0; n < levels; n++) value = around(value);
    return estimateMessages([message({ type: "toolCall", id: "1", name: "show", arguments: { all: value } })]);
  };
  expect(nested(5)).toBeLessThan(1_300);
  expect(nested(6)).toBeGreaterThan(25_000);
});

test.each([
  [{ type: "image" }, 7],
  [{ type: "image", data: 5 }, 9],
  [{ type: "text", data: "x" }, 10],
])("%j in a call is no image", (it, tokens) => {
  expect(estimateMessages([message({ type: "toolCall", id: "1", name: "show", arguments: { it } })])).toBe(tokens);
});

test("instructions and the schemas of tools are counted", () => {
  const tool = { name: "read", description: "reads a file", parameters: { type: "object" } };
  expect(estimateText("x".repeat(400))).toBe(100);
  expect(estimateTools([])).toBe(0);
  expect(estimateTools([tool, tool])).toBe(2 * 9);
});

const usage = { input: 70, output: 5, cacheRead: 20, cacheWrite: 5, totalTokens: 0 };
const assistant = (more: object): Entry =>
  ({
    type: "message",
    id: "a",
    parentId: null,
    role: "assistant",
    content: [],
    timestamp: 1,
    ...more,
  }) as unknown as Entry;
const user = { type: "message", id: "u", parentId: null, role: "user", content: [], timestamp: 1 } as unknown as Entry;
const forty = [message({ type: "text", text: "x".repeat(40) })];

describe("the size of a context", () => {
  it("is an estimate before the first count, with instructions and tools", () => {
    const size = sizeWith(EMPTY_SIZE, user, forty);
    expect(tokensIn(size, 7)).toBe(17);
  });

  it("is the provider's count of the last turn plus the estimate of later messages", () => {
    const counted = sizeWith(sizeWith(EMPTY_SIZE, user, forty), assistant({ usage, stopReason: "stop" }), forty);
    expect(tokensIn(counted, 7)).toBe(100);
    expect(tokensIn(sizeWith(counted, user, forty), 7)).toBe(110);
  });

  it("ignores the count of an answer that was cut off or failed", () => {
    for (const stopReason of ["error", "aborted"]) {
      const size = sizeWith(sizeWith(EMPTY_SIZE, user, forty), assistant({ usage, stopReason }), forty);
      expect(tokensIn(size, 7)).toBe(27);
    }
  });

  it("after a compaction is the size that the compaction recorded", () => {
    const before = sizeWith(EMPTY_SIZE, assistant({ usage, stopReason: "stop" }), forty);
    const compaction = { type: "compaction", id: "c", parentId: "a", details: { tokensAfter: 33 } } as unknown as Entry;
    expect(tokensIn(sizeWith(sizeWith(before, compaction, []), user, forty), 7)).toBe(43);
  });

  it("uses the provider's total, else the sum of its parts, else the estimate", () => {
    const size = (more: object) => tokensIn(sizeWith(EMPTY_SIZE, assistant({ stopReason: "stop", ...more }), forty), 7);
    expect(size({ usage: { ...usage, totalTokens: 90 } })).toBe(90);
    expect(size({ usage })).toBe(100);
    expect(size({})).toBe(17);
  });
});
