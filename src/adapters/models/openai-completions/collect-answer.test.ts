import { describe, expect, it } from "vitest";
import type { ModelEvent } from "../../../core/ports/model.ts";
import { AnswerCollector, BrokenAnswer } from "./collect-answer.ts";

const FREE = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };

function collect(...chunks: readonly (object | string)[]): { collector: AnswerCollector; events: ModelEvent[] } {
  const events: ModelEvent[] = [];
  const collector = new AnswerCollector(FREE, (event) => events.push(event));
  for (const chunk of chunks) collector.take(typeof chunk === "string" ? chunk : JSON.stringify(chunk));
  return { collector, events };
}

const delta = (part: object, finish_reason: string | null = null): object => ({
  choices: [{ delta: part, finish_reason }],
});
const call = (index: number | undefined, id: string | undefined, name: string | undefined, given: unknown): object =>
  delta({ tool_calls: [{ index, id, function: { name, arguments: given } }] });

describe("an answer", () => {
  it("has its calls by index, for any first index and any order of parts", () => {
    const { collector, events } = collect(
      call(1, "a", "one", '{"x"'),
      call(2, "b", "two", '{"y"'),
      call(1, undefined, undefined, ":1}"),
      call(2, undefined, undefined, ":2}"),
      delta({}, "tool_calls"),
    );
    collector.finish();
    expect(collector.answer()).toMatchObject({
      stopReason: "tool_calls",
      content: [
        { id: "a", name: "one", arguments: { x: 1 } },
        { id: "b", name: "two", arguments: { y: 2 } },
      ],
    });
    expect(events.filter(({ type }) => type === "toolCall")).toHaveLength(2);
  });

  it("has at most 1,000 calls", () => {
    const { collector } = collect(
      ...Array.from({ length: 1_000 }, (_, index) => call(index, undefined, undefined, "")),
    );
    expect(() => collector.take(JSON.stringify(call(1_000, undefined, undefined, "")))).toThrow(
      "more than 1000 tool calls",
    );
  });

  it("gives new ids to complete calls without index and id", () => {
    const { collector } = collect(
      call(undefined, undefined, "one", { x: 1 }),
      call(undefined, undefined, "two", ""),
      delta({}, "stop"),
    );
    collector.finish();
    const { content, stopReason } = collector.answer();
    expect(stopReason).toBe("tool_calls");
    expect(content).toMatchObject([
      { name: "one", arguments: { x: 1 } },
      { name: "two", arguments: {} },
    ]);
    expect(new Set(content.map((block) => block.type === "toolCall" && block.id)).size).toBe(2);
  });

  it("may come in one piece", () => {
    const { collector } = collect({
      choices: [{ message: { content: "All of it." }, finish_reason: "stop" }],
      usage: { prompt_tokens: 5, completion_tokens: 3 },
    });
    collector.finish();
    expect(collector.answer()).toMatchObject({
      content: [{ text: "All of it." }],
      usage: { input: 5, output: 3, totalTokens: 8 },
    });
  });

  it("ends with [DONE] if the server sends no reason", () => {
    const { collector } = collect(delta({ content: "hm" }), "[DONE]", delta({ content: "too late" }));
    collector.finish();
    expect(collector.answer()).toMatchObject({ stopReason: "stop", content: [{ text: "hm" }] });
  });

  it.each<[string, readonly (object | string)[]]>([["the stream ends too early", [delta({ content: "hm" })]]])(
    "is broken if %s",
    (_, chunks) => {
      expect(() => collect(...chunks).collector.finish()).toThrow(BrokenAnswer);
    },
  );

  it.each(['{"x":', "[1]", "nonsense"])("marks a call whose arguments are %s", (given) => {
    const { collector } = collect(call(0, "a", "one", given), call(1, "b", "two", "{}"), delta({}, "tool_calls"));
    collector.finish();
    const [first, second] = collector.answer().content;
    expect(first).toMatchObject({ name: "one", arguments: {}, malformed: true });
    expect(second).not.toHaveProperty("malformed", true);
  });

  it("is broken by an event that is not JSON", () => {
    expect(() => collect("{nonsense")).toThrow(BrokenAnswer);
    expect(() => collect("null")).toThrow(BrokenAnswer);
  });

  it("that reached its limit keeps its calls, which the loop does not execute", () => {
    const { collector } = collect(call(0, "a", "one", '{"x":'), delta({}, "length"));
    collector.finish();
    expect(collector.answer()).toMatchObject({ stopReason: "length", content: [{ arguments: {} }] });
  });

  it("that was stopped for its content has an error with the reason", () => {
    expect(collect(delta({ content: "well" }, "content_filter")).collector.error?.code).toBe("content_filter");
  });
});
