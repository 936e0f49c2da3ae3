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

describe("deltas that are packed", () => {
  const delta = (seq: number, rest: Partial<RunEvent> = {}): RunEvent =>
    ({
      type: "delta",
      stream: "text",
      text: `t${seq}`,
      agentId: "a",
      runId: "r",
      attempt: 1,
      step: 1,
      seq,
      ...rest,
    }) as RunEvent;

  it("are one text if they follow each other, and as they were if there is one alone", () => {
    expect(pack([delta(4), delta(5), delta(6)])).toEqual([{ ...delta(4), text: "t4t5t6", lengths: [2, 2, 2] }]);
    expect(pack([delta(4)])).toEqual([delta(4)]);
    expect(pack([])).toEqual([]);
  });

  it.each<[string, Partial<RunEvent>]>([
    ["a number is missing between them", { seq: 6 }],
    ["they belong to two runs", { runId: "other" as RunId }],
    ["one is thinking", { stream: "thinking" } as Partial<RunEvent>],
    ["they belong to two attempts", { attempt: 2 }],
    ["they belong to two steps", { step: 2 }],
  ])("stay apart if %s", (_why, second) => {
    const events = [delta(4), delta(5, second)];
    expect(pack(events)).toEqual(events);
  });

  it("stay apart around another event, and keep their order", () => {
    const step = delta(6, { type: "step" } as Partial<RunEvent>);
    expect(pack([delta(4), delta(5), step, delta(7)]).map(({ seq }) => seq)).toEqual([4, 6, 7]);
  });
});

describe("the parts of messages", () => {
  it("are one for a short message, and none for one that is too long", () => {
    expect(splitMessage({ hello: true }, 3, 100)).toEqual(['3.0.1 {"hello":true}']);
    const long = (length: number): RelayMessage => ({ unwant: ["x".repeat(length) as AgentId] });
    const around = JSON.stringify(long(0)).length;
    expect(splitMessage(long(1_000_000 - around), 1, 600_000)).toHaveLength(2);
    expect(splitMessage(long(1_000_001 - around), 1, 600_000)).toEqual([]);
  });

  it("of two senders do not mix, and a sender that begins another message gives the first one up", () => {
    const parts = new PartAssembler();
    const message = (name: string): RelayMessage => ({ unwant: [`${name} ${"x".repeat(60)}` as AgentId] });
    const [a, b] = [splitMessage(message("a"), 1, 60), splitMessage(message("b"), 1, 60)];
    expect(a.length).toBeGreaterThan(2);
    const received = a.flatMap((text, index) => [parts.add(text, "one"), parts.add(b[index] ?? "", "two")]);
    expect(received.slice(-2)).toEqual([message("a"), message("b")]);
    parts.add(a[0] ?? "", "one");
    for (const text of splitMessage(message("c"), 2, 60).slice(0, -1)) parts.add(text, "one");
    expect(parts.add(a.at(-1) ?? "", "one")).toBeUndefined();
  });

  it.each([
    ["as many senders as asked for", new PartAssembler(2), 2],
    ["sixty-four senders", new PartAssembler(), 64],
  ])("are kept for %s: the one that began first is given up", (_, parts, most) => {
    const texts = splitMessage({ unwant: ["x".repeat(40) as AgentId] }, 1, 60);
    expect(texts).toHaveLength(2);
    const senders = Array.from({ length: most + 1 }, (_one, n) => `sender ${n}`);
    for (const from of senders) parts.add(texts[0] ?? "", from);
    const ends = senders.map((from) => parts.add(texts[1] ?? "", from) !== undefined);
    expect(ends).toEqual([false, ...Array.from({ length: most }, () => true)]);
  });

  it("of a message that nobody would send are refused before they are collected", () => {
    const parts = new PartAssembler();
    parts.add(`1.0.40000 ${"x".repeat(101)}`, "one");
    expect(parts.add('1.1.2 "x"', "one")).toBeUndefined();
    expect(parts.add('1.0.1 "a text and no message"', "one")).toBeUndefined();
    expect(parts.add("1.0.1 null", "one")).toBeUndefined();
  });
});
