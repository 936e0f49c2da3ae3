import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { RunId } from "../../../core/ids.ts";
import { entryEventId, eventId, parseEventId } from "./event-id.ts";

describe("the id of an event", () => {
  it("round-trips", () => {
    const small = fc.nat(1_000_000);
    fc.assert(
      fc.property(fc.uuid(), small, small, small, small, (runId, attempt, step, seq, position) => {
        const id = eventId({ runId: runId as RunId, attempt, step, seq }, position);
        expect(parseEventId(id)).toEqual({ runId, attempt, step, seq, position });
      }),
    );
    expect(parseEventId(entryEventId(7))).toMatchObject({ position: 7 });
  });

  it("rejects malformed ids", () => {
    fc.assert(fc.property(fc.string(), (text) => !Number.isNaN(parseEventId(text)?.position)));
    for (const bad of [undefined, "", "x", "1.2.3.4", "a.1.1.1.-1", "a.1.1.1.1.1", "a b.1.1.1.1"])
      expect(parseEventId(bad)).toBeUndefined();
  });
});
