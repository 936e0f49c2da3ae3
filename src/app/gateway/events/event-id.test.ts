import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { RunEvent } from "../../../engine/runtime/run-events.ts";
import { eventId, parseEventId, placeId } from "./event-id.ts";

describe("the id of an event", () => {
  it("is read as it was written", () => {
    const small = fc.nat(1_000_000);
    fc.assert(
      fc.property(fc.uuid(), small, small, small, small, (runId, attempt, step, seq, position) => {
        const event = { runId, attempt, step, seq } as unknown as RunEvent;
        expect(parseEventId(eventId(event, position))).toEqual({ runId, attempt, step, seq, position });
      }),
    );
    expect(parseEventId(placeId(7))).toMatchObject({ position: 7 });
  });

  it("is nothing where somebody made it up", () => {
    fc.assert(fc.property(fc.string(), (text) => !Number.isNaN(parseEventId(text)?.position)));
    for (const bad of [undefined, "", "x", "1.2.3.4", "a.1.1.1.-1", "a.1.1.1.1.1", "a b.1.1.1.1"])
      expect(parseEventId(bad)).toBeUndefined();
  });
});
