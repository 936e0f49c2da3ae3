import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { AgentId, RunId } from "../../../core/ids.ts";
import type { RunEvent } from "../../../engine/runtime/run-events.ts";
import { Parts, pack, partsOf, type Said, unpack } from "./wire.ts";

const eventOf = fc.record({
  type: fc.constantFrom("delta", "step", "tool_start"),
  text: fc.string({ unit: "binary", maxLength: 40 }),
  stream: fc.constantFrom("text", "thinking"),
  skip: fc.boolean(),
});

const eventsOf = (shapes: readonly (typeof eventOf extends fc.Arbitrary<infer T> ? T : never)[]): RunEvent[] => {
  let [seq, step] = [0, 1];
  return shapes.map(({ type, text, stream, skip }) => {
    seq += skip ? 3 : 1;
    if (type === "step") step += 1;
    const about = { agentId: "a" as AgentId, runId: "r" as RunId, attempt: 1, step, seq };
    if (type === "delta") return { type, stream, text, ...about } as RunEvent;
    if (type === "step") return { type, ...about } as RunEvent;
    return { type: "tool_start", callId: "c", name: text, ...about } as RunEvent;
  });
};

describe("what nodes say about runs", () => {
  it("comes out as it went in, whatever was joined", () => {
    fc.assert(
      fc.property(fc.array(eventOf, { maxLength: 40 }), (shapes) => {
        const events = eventsOf(shapes);
        expect([...unpack(pack(events))]).toEqual(events);
      }),
    );
  });

  it("travels in parts that fit, of one byte a character, and is whole again at the other end", () => {
    fc.assert(
      fc.property(fc.array(eventOf, { maxLength: 20 }), fc.integer({ min: 50, max: 400 }), (shapes, most) => {
        const said: Said = { tell: pack(eventsOf(shapes)) };
        const parts = new Parts();
        const texts = partsOf(said, 7, most);
        for (const text of texts) expect(Buffer.byteLength(text)).toBeLessThanOrEqual(most);
        const heard = texts.map((text) => parts.add(text, "other"));
        expect(heard.slice(0, -1)).toEqual(texts.slice(1).map(() => undefined));
        expect(heard.at(-1)).toEqual(JSON.parse(JSON.stringify(said)));
      }),
    );
  });

  it("is lost whole where a part is lost, and harms nothing that comes after", () => {
    const parts = new Parts();
    const long = partsOf(
      { want: Array.from({ length: 30 }, (_, n) => `agent${n}` as AgentId), interest: "all", tail: true },
      1,
      100,
    );
    const next = partsOf({ hello: true }, 2, 100);
    for (const text of long.toSpliced(1, 1)) expect(parts.add(text, "x")).toBeUndefined();
    expect(next.map((text) => parts.add(text, "x"))).toEqual([{ hello: true }]);
    expect(parts.add("nonsense", "x")).toBeUndefined();
    expect(parts.add("1.0.1 {", "x")).toBeUndefined();
  });
});
