import { describe, expect, it } from "vitest";
import { virtualClock } from "../../../test/kit/clock.ts";
import { AbortedError, SuspendedError, TimeoutError } from "../../core/errors.ts";
import { Waits } from "./waits.ts";

describe("a wait", () => {
  it("settles for every waiter of the same key", async () => {
    const waits = new Waits<string>(virtualClock());
    const both = Promise.all([waits.wait("k", { timeoutMs: 100 }), waits.wait("k", { timeoutMs: 100 })]);
    waits.settle("k", "done");
    expect(await both).toEqual(["done", "done"]);
    expect(waits.has("k")).toBe(false);
  });

  it("settles with a typed error when its time is up, and leaves no timer behind", async () => {
    const clock = virtualClock();
    const waits = new Waits<string>(clock);
    const timed = expect(waits.wait("k", { timeoutMs: 100 })).rejects.toBeInstanceOf(TimeoutError);
    await clock.advance(100);
    await timed;
    expect([waits.has("k"), clock.timers]).toEqual([false, 0]);
  });

  it("leaves no timer behind after it is settled", async () => {
    const clock = virtualClock();
    const waits = new Waits<string>(clock);
    const waiting = waits.wait("k", { timeoutMs: 100 });
    waits.settle("k", "x");
    await waiting;
    expect(clock.timers).toBe(0);
  });

  it("ends with its run, and leaves nothing behind", async () => {
    const clock = virtualClock();
    const waits = new Waits<string>(clock);
    const run = new AbortController();
    const waiting = waits.wait("k", { timeoutMs: 100, signal: run.signal });
    run.abort();
    await expect(waiting).rejects.toBeInstanceOf(AbortedError);
    await expect(waits.wait("k", { timeoutMs: 100, signal: run.signal })).rejects.toBeInstanceOf(AbortedError);
    expect([waits.has("k"), clock.timers]).toEqual([false, 0]);
  });

  it("is suspended when the program stops if it belongs to a run; a wait from outside continues", async () => {
    const waits = new Waits<string>(virtualClock());
    const [ofRun, outside] = [waits.wait("k", { timeoutMs: 100, ofRun: true }), waits.wait("k", { timeoutMs: 100 })];
    waits.suspend();
    await expect(ofRun).rejects.toBeInstanceOf(SuspendedError);
    await expect(waits.wait("k", { timeoutMs: 100, ofRun: true })).rejects.toBeInstanceOf(SuspendedError);
    waits.settle("k", "done");
    expect(await outside).toBe("done");
  });

  it("from outside may begin while the program stops; one of a run that is not stopping goes on", async () => {
    const waits = new Waits<string>(virtualClock());
    const ofRun = waits.wait("k", { timeoutMs: 100, ofRun: true });
    waits.settle("k", "first");
    expect(await ofRun).toBe("first");
    waits.suspend();
    const outside = waits.wait("k", { timeoutMs: 100 });
    expect(waits.has("k")).toBe(true);
    waits.settle("k", "second");
    expect(await outside).toBe("second");
  });

  it("is known by its key until its last waiter has left", async () => {
    const waits = new Waits<string>(virtualClock());
    const run = new AbortController();
    const [one, two] = [waits.wait("k", { timeoutMs: 100, signal: run.signal }), waits.wait("k", { timeoutMs: 100 })];
    run.abort();
    await expect(one).rejects.toBeInstanceOf(AbortedError);
    expect(waits.keys()).toEqual(["k"]);
    waits.settle("k", "done");
    expect(await two).toBe("done");
    expect(waits.keys()).toEqual([]);
  });

  it("ends with the process, whoever waits", async () => {
    const clock = virtualClock();
    const waits = new Waits<string>(clock);
    const all = [waits.wait("a", { timeoutMs: 100 }), waits.wait("b", { timeoutMs: 100, ofRun: true })];
    waits.abandon();
    for (const one of all) await expect(one).rejects.toBeInstanceOf(TimeoutError);
    expect([waits.keys(), clock.timers]).toEqual([[], 0]);
  });
});
