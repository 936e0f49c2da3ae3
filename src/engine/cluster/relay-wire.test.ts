import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { AgentId, RunId } from "../../core/ids.ts";
import type { RunEvent } from "../runtime/run-events.ts";
import { PartAssembler, pack, type RelayMessage, splitMessage, unpack } from "./relay-wire.ts";

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

describe("the messages between nodes", () => {
  it("unpacks exactly the events that were packed", () => {
    fc.assert(
      fc.property(fc.array(eventOf, { maxLength: 40 }), (shapes) => {
        const events = eventsOf(shapes);
        expect([...unpack(pack(events))]).toEqual(events);
      }),
    );
  });

  it("splits a message into parts that fit and assembles them again", () => {
    fc.assert(
      fc.property(fc.array(eventOf, { maxLength: 20 }), fc.integer({ min: 50, max: 400 }), (shapes, most) => {
        const message: RelayMessage = { tell: pack(eventsOf(shapes)) };
        const parts = new PartAssembler();
        const texts = splitMessage(message, 7, most);
        for (const text of texts) expect(Buffer.byteLength(text)).toBeLessThanOrEqual(most);
        const received = texts.map((text) => parts.add(text, "other"));
        expect(received.slice(0, -1)).toEqual(texts.slice(1).map(() => undefined));
        expect(received.at(-1)).toEqual(JSON.parse(JSON.stringify(message)));
      }),
    );
  });

  it("drops a message that lost a part, and still reads the next one", () => {
    const parts = new PartAssembler();
    const long = splitMessage(
      { want: Array.from({ length: 30 }, (_, n) => `agent${n}` as AgentId), interest: "all", tail: true },
      1,
      100,
    );
    const next = splitMessage({ hello: true }, 2, 100);
    for (const text of long.toSpliced(1, 1)) expect(parts.add(text, "x")).toBeUndefined();
    expect(next.map((text) => parts.add(text, "x"))).toEqual([{ hello: true }]);
    expect(parts.add("nonsense", "x")).toBeUndefined();
    expect(parts.add("1.0.1 {", "x")).toBeUndefined();
  });
});
