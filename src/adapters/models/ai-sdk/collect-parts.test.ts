/** What a stream of parts becomes: its blocks, why it ended, and what it cost. */
import { describe, expect, test } from "vitest";
import type { ModelEvent } from "../../../core/ports/model.ts";
import { PartCollector } from "./collect-parts.ts";
import type { SdkUsage, StreamPart, WithMetadata } from "./language-model.ts";

type Part = StreamPart & WithMetadata;
const finish = (finishReason: unknown = "stop", usage: SdkUsage = {}): Part =>
  ({ type: "finish", finishReason, usage }) as Part;
const call = (input: string, more: object = {}): Part =>
  ({ type: "tool-call", toolCallId: "c", toolName: "t", input, ...more }) as Part;
const text = (delta: string, id = "0", more: object = {}): Part => ({ type: "text-delta", id, delta, ...more }) as Part;
const thought = (delta: string, more: object = {}): Part =>
  ({ type: "reasoning-delta", id: "0", delta, ...more }) as Part;

function collected(...parts: readonly Part[]) {
  const events: ModelEvent[] = [];
  const collector = new PartCollector((event) => events.push(event));
  for (const part of parts) collector.take(part);
  return { collector, events, ...collector.answer() };
}

test.each<[string, SdkUsage, readonly number[]]>([
  ["of version 2", { inputTokens: 10, outputTokens: 3 }, [10, 3, 0, 0, 13]],
  ["of version 2 with a cache", { inputTokens: 10, outputTokens: 3, cachedInputTokens: 4 }, [6, 3, 4, 0, 13]],
  ["with more in the cache than in all", { inputTokens: 1, cachedInputTokens: 4 }, [0, 0, 4, 0, 4]],
  [
    "of version 3",
    { inputTokens: { total: 20, noCache: 5, cacheRead: 8, cacheWrite: 7 }, outputTokens: { total: 3 } },
    [5, 3, 8, 7, 23],
  ],
  [
    "without the part that is in no cache",
    { inputTokens: { total: 20, cacheRead: 8, cacheWrite: 7 } },
    [5, 0, 8, 7, 20],
  ],
  ["without a sum", { inputTokens: { noCache: 5 } }, [5, 0, 0, 0, 5]],
  ["of no tokens in no cache", { inputTokens: { total: 8, noCache: 0, cacheRead: 4 } }, [0, 0, 4, 0, 4]],
  ["of nothing", {}, [0, 0, 0, 0, 0]],
])("the counts %s", (_, counted, [input, output, cacheRead, cacheWrite, totalTokens]) => {
  expect(collected(finish("stop", counted)).usage).toMatchObject({ input, output, cacheRead, cacheWrite, totalTokens });
});

test.each([
  [{ inputTokens: 5, outputTokens: 0 }, undefined],
  [{ inputTokens: 5 }, ["output"]],
  [{ outputTokens: { total: 5 } }, ["input"]],
  [{}, ["input", "output"]],
])("marks what %j does not count as unknown", (counted, unknown) => {
  expect(collected(finish("stop", counted)).usage?.unknown).toEqual(unknown);
});

describe("the end of an answer", () => {
  test.each([
    ["stop", [text("a")], "stop"],
    ["stop", [call("{}")], "tool_calls"],
    ["tool-calls", [text("a")], "stop"],
    ["length", [call("{}")], "length"],
    [{ unified: "length", raw: "max" }, [text("a")], "length"],
  ] as const)("by %j has its reason", (reason, parts, expected) => {
    const { collector, stopReason } = collected(...parts, finish(reason));
    expect([collector.end(), stopReason]).toEqual([undefined, expected]);
  });

  test.each([
    ["error", { error: { code: "error", text: "The answer was stopped (error)." }, class: undefined }],
    ["content-filter", { error: { code: "content-filter" }, class: "request" }],
    [
      { unified: "content-filter", raw: "SAFETY" },
      { error: { code: "SAFETY" }, class: "request" },
    ],
    [{ unified: "error" }, { error: { code: "error" } }],
  ])("by %j is a failure", (reason, failure) => {
    expect(collected(finish(reason)).collector.end()).toMatchObject(failure);
  });

  test.each([[[]], [[finish("interrupted")]]])("that never came is a broken answer", (parts) => {
    expect(() => collected(...parts).collector.end()).toThrow("ended before the answer did");
  });
});

describe("the blocks of an answer", () => {
  test("are in the order in which they began, and parts of one belong together", () => {
    const { content, events } = collected(
      thought("t"),
      text("a", "0"),
      text("b", "1"),
      text("c", "0"),
      text(""),
      finish(),
    );
    expect(content).toMatchObject([{ thinking: "t" }, { text: "ac" }, { text: "b" }]);
    expect(events).toHaveLength(4);
  });

  test("begin anew with a start", () => {
    const start: Part = { type: "text-start", id: "0" };
    expect(collected(start, text("a"), start, text("b")).content).toMatchObject([{ text: "a" }, { text: "b" }]);
  });

  test.each([
    ["the latest is kept", { a: 2 }, { a: 2 }],
    ["none keeps the one before", undefined, { a: 1 }],
    ["what is no JSON is left out", { n: 1n }, undefined],
    ["nothing is left out", {}, undefined],
    ["what is too large is left out", { a: "x".repeat(100_000) }, undefined],
  ])("have what the provider wants back: %s", (_, providerMetadata, kept) => {
    const { content } = collected(text("a", "0", { providerMetadata: { a: 1 } }), text("b", "0", { providerMetadata }));
    expect(content[0]?.providerMetadata).toEqual(kept);
  });

  test("without text are kept only as thoughts with a signature", () => {
    const providerMetadata = { signature: "s" };
    expect(collected(thought("", { providerMetadata }), text("", "0", { providerMetadata })).content).toEqual([
      { type: "thinking", thinking: "", providerMetadata },
    ]);
  });
});

describe("a call", () => {
  test.each([
    ["{}", {}],
    [" ", {}],
    ['{"a":1}', { a: 1 }],
  ])("with %j has the arguments %j", (input, given) => {
    expect(collected(call(input)).content).toMatchObject([{ type: "toolCall", arguments: given }]);
  });

  test.each(["[]", "null", "5", '"a"', '{"a":'])("with %j breaks the answer", (input) => {
    expect(() => collected(call(input))).toThrow("not a JSON object");
  });

  test("is announced once, and one that the provider made itself is none", () => {
    const start = { type: "tool-input-start", id: "c", toolName: "t" } as Part;
    expect(collected(start, call("{}")).events).toEqual([{ type: "toolCall", id: "c", name: "t" }]);
    expect(collected(call("{}")).events).toHaveLength(2);
    expect(collected(call("{}", { providerExecuted: true }))).toMatchObject({ content: [], events: [] });
  });
});

test("an answer has at most ten thousand parts", () => {
  const parts = Array.from({ length: 10_000 }, (_, n) => text("a", `${n}`));
  expect(collected(...parts).content).toHaveLength(10_000);
  expect(() => collected(...parts, text("a", "more"))).toThrow("more than 10000 parts");
});
