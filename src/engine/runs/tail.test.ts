import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { AgentId, RunId } from "../../core/ids.ts";
import type { RunEvent, RunEventBody } from "../runtime/run-events.ts";
import { Tail } from "./tail.ts";

const about = { agentId: "a" as AgentId, runId: "r" as RunId, attempt: 1, step: 1 };
let n = 0;
const event = (body: RunEventBody, more: Partial<RunEvent> = {}): RunEvent =>
  ({ ...body, ...about, seq: ++n, ...more }) as RunEvent;
const delta = (text: string, more: Partial<RunEvent> = {}): RunEvent =>
  event({ type: "delta", stream: "text", text }, more);
const text = (events: readonly RunEvent[] | undefined): string | undefined =>
  events?.map((one) => (one.type === "delta" ? one.text : `[${one.type}]`)).join("");

describe("the tail of a run", () => {
  it("returns exactly the events after a given one", () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.string({ minLength: 1 }), fc.constant(undefined)), { minLength: 1, maxLength: 30 }),
        fc.nat(30),
        (pieces, cut) => {
          const tail = new Tail();
          const events = pieces.map((piece, at) =>
            piece === undefined
              ? event({ type: "tool_start", callId: `c${at}`, name: "t" }, { seq: at + 1 })
              : delta(piece, { seq: at + 1 }),
          );
          for (const one of events) tail.add(one);
          const seen = Math.min(cut, events.length);
          expect(text(tail.after({ attempt: 1, step: 1, seq: seen }))).toBe(text(events.slice(seen)) ?? "");
          expect(text(tail.events())).toBe(text(events));
        },
      ),
    );
  });

  it("drops committed and voided events, and returns undefined for an event before them", () => {
    const tail = new Tail();
    tail.add(delta("old"));
    tail.add(event({ type: "step" }));
    tail.add(delta("void", { step: 2 }));
    tail.add(event({ type: "restart", attempt: 1 }, { step: 2 }));
    tail.add(delta("new", { step: 2 }));
    expect(text(tail.events())).toBe("[restart]new");
    expect(tail.after({ attempt: 1, step: 1, seq: 1 })).toBeUndefined();
    expect(tail.after({ attempt: 2, step: 2, seq: 1 })).toBeUndefined();
  });

  it("begins before every event", () => {
    const tail = new Tail();
    expect([tail.at, tail.events()]).toEqual([{ attempt: 0, step: 0, seq: 0 }, []]);
    expect(tail.after({ attempt: 0, step: 0, seq: 0 })).toEqual([]);
  });

  it("joins deltas of one stream that follow each other, with the number of the last", () => {
    const tail = new Tail();
    const thinking = (said: string, seq: number) => event({ type: "delta", stream: "thinking", text: said }, { seq });
    const tool = event({ type: "tool_start", callId: "c", name: "t" }, { seq: 6 });
    const given = [
      thinking("h", 1),
      thinking("m", 2),
      delta("a", { seq: 3 }),
      delta("b", { seq: 4 }),
      delta("c", { seq: 5 }),
    ];
    for (const one of [...given, tool, delta("d", { seq: 7 })]) tail.add(one);
    const base = { type: "delta", agentId: "a", runId: "r", attempt: 1, step: 1 } as const;
    const joined = [
      { ...base, stream: "thinking", text: "hm", seq: 2 },
      { ...base, stream: "text", text: "abc", seq: 5 },
      tool,
      { ...base, stream: "text", text: "d", seq: 7 },
    ];
    expect(tail.events()).toEqual(joined);
    expect(tail.at).toEqual({ attempt: 1, step: 1, seq: 7 });
    // Within a piece the rest of its text is returned.
    expect(tail.after({ attempt: 1, step: 1, seq: 3 })).toEqual([
      { ...base, stream: "text", text: "bc", seq: 5 },
      tool,
      joined[3],
    ]);
    expect(tail.after({ attempt: 1, step: 1, seq: 5 })).toEqual([tool, joined[3]]);
    expect(tail.after({ attempt: 1, step: 1, seq: 7 })).toEqual([]);
    // Apart, every delta is what it was.
    expect([...tail.apart()]).toEqual([...given, tool, delta("d", { seq: 7 })]);
  });

  it.each([
    ["a step", event({ type: "step" })],
    ["the end", event({ type: "end", result: {} as never })],
  ])("is empty after %s", (_name, last) => {
    const tail = new Tail();
    tail.add(delta("old"));
    tail.add(last);
    expect([tail.events(), [...tail.apart()]]).toEqual([[], []]);
  });

  it.each([
    ["attempt", { attempt: 2 }],
    ["step", { step: 2 }],
  ])("holds nothing of an earlier %s", (_name, later) => {
    const tail = new Tail();
    tail.add(delta("old"));
    tail.add(delta("new", later));
    expect(text(tail.events())).toBe("new");
  });
});
