import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { TimeoutError, WaitCycleError } from "../core/errors.ts";
import type { AgentId } from "../core/ids.ts";
import { virtualClock } from "./engine.test-kit.ts";
import { Waits } from "./waits.ts";

const agent = (name: string | number) => `agent${name}` as AgentId;

describe("a wait", () => {
  it("settles with what it waited for, for everybody who waits", async () => {
    const waits = new Waits<string>(virtualClock());
    const both = Promise.all([waits.wait("k", 100), waits.wait("k", 100)]);
    waits.settle("k", "done");
    expect(await both).toEqual(["done", "done"]);
    expect(waits.has("k")).toBe(false);
  });

  it("settles with a typed error when its time is up, and leaves no timer behind", async () => {
    const clock = virtualClock();
    const waits = new Waits<string>(clock);
    const timed = expect(waits.wait("k", 100)).rejects.toBeInstanceOf(TimeoutError);
    await clock.advance(100, async () => {});
    await timed;
    expect([waits.has("k"), clock.timers]).toEqual([false, 0]);
  });

  it("leaves no timer behind where it was settled", async () => {
    const clock = virtualClock();
    const waits = new Waits<string>(clock);
    const waiting = waits.wait("k", 100);
    waits.settle("k", "x");
    await waiting;
    expect(clock.timers).toBe(0);
  });
});

describe("a circle of agents that wait", () => {
  it("is refused, whatever its length, and an agent cannot wait for itself", () => {
    const waits = new Waits(virtualClock());
    expect(() => waits.hold(agent(1), agent(1))).toThrow(WaitCycleError);
    waits.hold(agent(1), agent(2));
    waits.hold(agent(2), agent(3));
    expect(() => waits.hold(agent(3), agent(1))).toThrow(WaitCycleError);
    expect(() => waits.hold(agent(1), agent(3))).not.toThrow();
  });

  it("is open again when one of them no longer waits; letting go twice lets go once", () => {
    const waits = new Waits(virtualClock());
    const one = waits.hold(agent(1), agent(2));
    const two = waits.hold(agent(1), agent(2));
    one();
    one();
    expect(() => waits.hold(agent(2), agent(1))).toThrow(WaitCycleError);
    two();
    expect(() => waits.hold(agent(2), agent(1))).not.toThrow();
  });

  it("never comes to be, in whatever order they ask", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(5), fc.nat(5), fc.boolean()), { maxLength: 40 }), (asks) => {
        const waits = new Waits(virtualClock());
        const edges: { from: number; on: number; release: () => void }[] = [];
        for (const [from, on, leave] of asks) {
          if (leave) edges.pop()?.release();
          else {
            try {
              edges.push({ from, on, release: waits.hold(agent(from), agent(on)) });
            } catch (error) {
              expect(error).toBeInstanceOf(WaitCycleError);
            }
          }
          // Whoever waits for nobody can go on; taking them away must empty the graph.
          let left = edges.map(({ from: a, on: b }) => [a, b] as const);
          for (let size = -1; size !== left.length; ) {
            size = left.length;
            const waiting = new Set(left.map(([a]) => a));
            left = left.filter(([, b]) => waiting.has(b));
          }
          expect(left).toEqual([]);
        }
      }),
    );
  });
});
