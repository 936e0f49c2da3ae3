import { describe, expect, it } from "vitest";
import { readEvents, type ServerEvent } from "./event-stream.ts";
import { answerEvents } from "./stream-answer.ts";

const event = (type: string, data: object = {}): ServerEvent => ({ id: type, type, data: { type, ...data } });
const delta = (text: string) => event("delta", { stream: "text", text });
const entry = (text: string) =>
  event("entry", { position: 1, entry: { type: "message", role: "assistant", content: [{ type: "text", text }] } });
const end = event("end", { result: { outcome: "ok" } });

async function* each<T>(items: readonly T[]): AsyncGenerator<T> {
  yield* items;
}

const textOf = async (...events: ServerEvent[]): Promise<string> => {
  let text = "";
  for await (const one of answerEvents(each(events))) if (one.type === "delta") text += one.text;
  return text;
};

describe("the deltas of an answer", () => {
  it.each<[string, ServerEvent[], string]>([
    ["as they come", [delta("a "), delta("b"), entry("a b"), end], "a b"],
    ["whole, if the step was committed before the stream was open", [entry("a b"), end], "a b"],
    ["the rest, if the stream was lost in between", [delta("a "), entry("a b"), end], "a b"],
    [
      "once, if a step was committed while the stream was opened",
      [entry("a b"), event("start"), delta("a "), delta("b"), end],
      "a b",
    ],
    ["of every step", [delta("a"), entry("a"), event("step"), delta("b"), entry("b"), event("step"), end], "ab"],
    ["without thoughts", [event("delta", { stream: "thinking", text: "hm" }), delta("a"), entry("a"), end], "a"],
    [
      "of both attempts, with a restart between them",
      [delta("x"), event("restart"), delta("a"), entry("a"), end],
      "xa",
    ],
  ])("come %s", async (_, events, text) => {
    expect(await textOf(...events)).toBe(text);
  });
});

describe("readEvents", () => {
  it("reads events however the text is cut, and leaves comments out", async () => {
    const text = ': here\n\nid: 1\nevent: delta\ndata: {"text":"a\\n\\nb"}\n\nevent: delivery\ndata: {}\n\n';
    for (const size of [1, 3, 7, 1_000]) {
      const pieces = Array.from({ length: Math.ceil(text.length / size) }, (_, n) =>
        text.slice(n * size, (n + 1) * size),
      );
      const events: ServerEvent[] = [];
      const answer = { status: 200, body: each(pieces), bytes: async () => new Uint8Array() };
      for await (const one of readEvents(async () => answer, "/events")) events.push(one);
      expect(events).toEqual([
        { id: "1", type: "delta", data: { text: "a\n\nb" } },
        { id: undefined, type: "delivery", data: {} },
      ]);
    }
  });
});
