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
});
