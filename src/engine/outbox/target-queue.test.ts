import { describe, expect, it } from "vitest";
import { virtualClock } from "../../../test/kit/clock.ts";
import { gate } from "../../../test/kit/gate.ts";
import { type Target, TargetQueue, type Turn } from "./target-queue.ts";

const nothing: Turn = { next: "nothing" };

/** A queue whose turns are recorded and answered by `answer`. */
function queueOf(answer: (target: Target, n: number) => Turn | Promise<Turn>, concurrency = 9) {
  const clock = virtualClock();
  const turns: string[] = [];
  const queue = new TargetQueue(clock, concurrency, async (target) => answer(target, turns.push(target.key)));
  return { clock, turns, queue };
}

describe("a target queue", () => {
  it("forgets a target that has nothing left", async () => {
    const { queue, turns } = queueOf(() => nothing);
    queue.add("a");
    await queue.idle();
    expect([turns, queue.size]).toEqual([["a"], 0]);
  });

  it("takes one turn at a time per target, and another one if the target was added in between", async () => {
    const first = gate<Turn>();
    const { queue, turns } = queueOf((_, n) => (n === 1 ? first.promise : nothing));
    for (const key of ["a", "a", "a", "b"]) queue.add(key);
    expect(turns).toEqual(["a", "b"]);
    first.open(nothing);
    await queue.idle();
    expect([turns, queue.size]).toEqual([["a", "b", "a"], 0]);
  });

  it("keeps a target waiting while others have their turns, until its wait ends", async () => {
    const { queue, turns, clock } = queueOf((_, n) => (n === 1 ? { next: "wait", ms: 1_000 } : nothing));
    queue.add("a");
    queue.add("b");
    await queue.idle();
    queue.add("a");
    await queue.idle();
    expect(turns).toEqual(["a", "b"]);
    await clock.advance(1_000, () => queue.idle());
    await queue.idle();
    expect(turns).toEqual(["a", "b", "a"]);
  });

  it.each([
    [true, true, 2],
    [true, false, 1],
    [undefined, true, 1],
  ] as const)(
    "a turn that waits unless it was added (%s), and was added (%s), has %i turns at once",
    async (unlessAdded, again, count) => {
      const first = gate<Turn>();
      const { queue, turns, clock } = queueOf((_, n) =>
        n === 1 ? first.promise : { next: "wait", ms: 1_000, unlessAdded },
      );
      queue.add("a");
      if (again) queue.add("a");
      first.open({ next: "wait", ms: 1_000, unlessAdded });
      await queue.idle();
      expect([turns.length, clock.timers]).toEqual([count, 1]);
    },
  );

  it("ends a wait at once on request", async () => {
    const { queue, turns } = queueOf((_, n) => (n === 1 ? { next: "wait", ms: 1_000 } : nothing));
    queue.add("a");
    await queue.idle();
    queue.interruptWait("a");
    await queue.idle();
    expect([turns, queue.size]).toEqual([["a", "a"], 0]);
  });

  it("keeps the limit of turns at once", async () => {
    const hold = gate<Turn>();
    const { queue, turns } = queueOf(() => hold.promise, 2);
    for (const key of ["a", "b", "c"]) queue.add(key);
    expect(turns).toEqual(["a", "b"]);
    hold.open(nothing);
    await queue.idle();
    expect(turns).toEqual(["a", "b", "c"]);
  });

  it("begins no turn after it was stopped", async () => {
    const hold = gate<Turn>();
    const { queue, turns, clock } = queueOf(({ key }) => (key === "a" ? hold.promise : { next: "wait", ms: 5 }));
    for (const key of ["a", "b"]) queue.add(key);
    const stopped = queue.stop();
    queue.add("c");
    hold.open({ next: "turn" });
    await stopped;
    await clock.advance(1_000, () => queue.idle());
    expect(turns).toEqual(["a", "b"]);
  });

  it("that is stopped forgets the turns that were ready, and waits for those under way", async () => {
    const hold = gate<Turn>();
    const { queue, turns } = queueOf(() => hold.promise, 1);
    for (const key of ["a", "b"]) queue.add(key);
    let isStopped = false;
    const stopped = queue.stop().then(() => {
      isStopped = true;
    });
    await Promise.resolve();
    expect(isStopped).toBe(false);
    hold.open(nothing);
    await stopped;
    expect(turns).toEqual(["a"]);
  });

  it("that is stopped leaves no timer", async () => {
    const { queue, clock } = queueOf(() => ({ next: "wait", ms: 1_000 }));
    queue.add("a");
    await queue.idle();
    expect(clock.timers).toBe(1);
    await queue.stop();
    expect(clock.timers).toBe(0);
  });

  it("that is stopped gives no turn to a target whose wait is ended, or that is new", async () => {
    const { queue, turns, clock } = queueOf(() => ({ next: "wait", ms: 1_000 }));
    queue.add("a");
    await queue.idle();
    await queue.stop();
    queue.interruptWait("a");
    queue.interruptWait("b");
    await queue.idle();
    expect([turns, clock.timers]).toEqual([["a"], 0]);
  });

  it("gives a target another turn after an interruption only if it waits; one under way is taken again afterwards", async () => {
    const first = gate<Turn>();
    const { queue, turns, clock } = queueOf((_, n) => (n === 1 ? first.promise : nothing));
    queue.interruptWait("a");
    queue.interruptWait("a");
    expect(turns).toEqual(["a"]);
    first.open({ next: "wait", ms: 1_000 });
    await queue.idle();
    queue.interruptWait("a");
    queue.interruptWait("a");
    await queue.idle();
    expect([turns, queue.size, clock.timers]).toEqual([["a", "a", "a"], 0, 0]);
  });

  it("hands on the delivery that was added with a target, for its first turn", async () => {
    const seen: unknown[] = [];
    const { queue } = queueOf((target) => {
      seen.push(target.first);
      return nothing;
    });
    queue.add("a", { id: "d1" } as never);
    await queue.idle();
    queue.add("a");
    await queue.idle();
    expect(seen).toEqual([{ id: "d1" }, undefined]);
  });
});
