import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { testSettings } from "../../../test/kit/settings.ts";
import { tries } from "../../../test/kit/share.ts";
import { Lanes, Place } from "./lanes.ts";

type Slot = NonNullable<Awaited<ReturnType<Lanes["enter"]>>>;

const sizes = (main: number) => ({ main, subagent: 1, cron: 1, nested: 1 });
const turn = () => new Promise((resolve) => setImmediate(resolve));

const settings = new WeakMap<Lanes, { current: { lanes: ReturnType<typeof sizes> } }>();

function lanesOf(size: number): Lanes {
  const own = { current: { lanes: sizes(size) } };
  const lanes = new Lanes(own);
  settings.set(lanes, own);
  return lanes;
}

/** Other settings are in force. */
function resize(lanes: Lanes, main: number): void {
  const own = settings.get(lanes);
  if (own) own.current = { lanes: { ...own.current.lanes, main } };
  lanes.resized();
}

describe("lanes", () => {
  it("never let in more than their size, serve in order, and lose no waiter", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 4 }),
        fc.array(fc.constantFrom("enter", "leave", "cancel", "grow", "shrink"), { maxLength: 40 }),
        async (size, acts) => {
          const lanes = lanesOf(size);
          let width = size;
          let tickets = 0;
          const inside: Slot[] = [];
          const admitted: number[] = [];
          const cancelled = new Set<number>();
          const waiting = new Map<number, AbortController>();
          for (const act of acts) {
            if (act === "enter") {
              const ticket = ++tickets;
              const controller = new AbortController();
              waiting.set(ticket, controller);
              void lanes.enter("main", controller.signal).then((slot) => {
                waiting.delete(ticket);
                if (!slot) return void cancelled.add(ticket);
                admitted.push(ticket);
                inside.push(slot);
              });
            } else if (act === "leave") inside.shift()?.release();
            else if (act === "cancel") [...waiting.values()].at(-1)?.abort();
            else {
              width = Math.max(1, width + (act === "grow" ? 1 : -1));
              resize(lanes, width);
            }
            const before = inside.length;
            await Promise.resolve().then(() => {});
            await turn();
            expect(inside.length).toBeLessThanOrEqual(Math.max(width, before));
            expect(lanes.counts().main.active).toBe(inside.length);
          }
          expect(admitted).toEqual([...admitted].sort((a, b) => a - b));
          while (inside.length > 0 || waiting.size > 0) {
            inside.shift()?.release();
            await turn();
          }
          expect(admitted.length + cancelled.size).toBe(tickets);
        },
      ),
      { numRuns: tries(60) },
    );
  });

  it("are independent of each other", async () => {
    const lanes = lanesOf(1);
    await lanes.enter("main");
    expect(await lanes.enter("cron")).toBeDefined();
  });

  it("settle a cancelled wait with undefined, also one that is cancelled before it begins", async () => {
    const lanes = lanesOf(1);
    await lanes.enter("main");
    const controller = new AbortController();
    const waiting = lanes.enter("main", controller.signal);
    controller.abort();
    expect(await waiting).toBeUndefined();
    expect(await lanes.enter("cron", controller.signal)).toBeUndefined();
    expect(lanes.counts().main).toEqual({ size: 1, active: 1, waiting: 0 });
  });

  it("can grow while runs wait", async () => {
    const lanes = lanesOf(1);
    await lanes.enter("main");
    const waiting = lanes.enter("main");
    resize(lanes, 2);
    expect(await waiting).toBeDefined();
  });

  it("count one release if a slot is released twice", async () => {
    const lanes = lanesOf(2);
    const slot = await lanes.enter("main");
    await lanes.enter("main");
    slot?.release();
    slot?.release();
    expect(lanes.counts().main.active).toBe(1);
  });

  it("admit as many waiters as slots were released, and those that a smaller size allows", async () => {
    const lanes = lanesOf(2);
    const [one, two] = [await lanes.enter("main"), await lanes.enter("main")];
    for (let waiter = 0; waiter < 4; waiter++) void lanes.enter("main");
    one?.release();
    expect(lanes.counts().main).toEqual({ size: 2, active: 2, waiting: 3 });
    resize(lanes, 1);
    two?.release();
    expect(lanes.counts().main).toEqual({ size: 1, active: 1, waiting: 3 });
    resize(lanes, 3);
    expect(lanes.counts().main).toEqual({ size: 3, active: 3, waiting: 1 });
  });

  it("have these sizes if none are configured", () => {
    const { main, subagent, cron, nested } = new Lanes(testSettings()).counts();
    expect([main.size, subagent.size, cron.size, nested.size]).toEqual([32, 16, 4, 16]);
  });

  it("have at least one slot, even if less is configured", async () => {
    expect(await lanesOf(0).enter("main")).toBeDefined();
  });
});

describe("a place in a lane", () => {
  it("is released while its run waits for another agent, and taken again before the run continues", async () => {
    const lanes = lanesOf(1);
    const place = new Place(lanes, "main", (await lanes.enter("main")) as Slot);
    const other = Promise.withResolvers<string>();
    const waiting = place.without(other.promise);
    const guest = await lanes.enter("main");
    other.resolve("answer");
    await turn();
    let back = false;
    void waiting.then(() => {
      back = true;
    });
    await turn();
    expect(back).toBe(false);
    guest?.release();
    expect(await waiting).toBe("answer");
    expect(lanes.counts().main.active).toBe(1);
    place.leave();
    expect(lanes.counts().main.active).toBe(0);
  });

  it("stays one place if several calls of the run wait in parallel, also if one fails", async () => {
    const lanes = lanesOf(2);
    const place = new Place(lanes, "main", (await lanes.enter("main")) as Slot);
    const one = Promise.withResolvers<void>();
    const two = Promise.withResolvers<void>();
    const waits = Promise.allSettled([place.without(one.promise), place.without(two.promise)]);
    expect(lanes.counts().main.active).toBe(0);
    one.reject(new TypeError("no"));
    await turn();
    expect(lanes.counts().main.active).toBe(0);
    two.resolve();
    await waits;
    expect(lanes.counts().main.active).toBe(1);
    place.leave();
    place.leave();
    expect(lanes.counts().main.active).toBe(0);
  });

  it("is released at once if the run leaves while the place waits to be taken again", async () => {
    const lanes = lanesOf(1);
    const place = new Place(lanes, "main", (await lanes.enter("main")) as Slot);
    const waiting = place.without(Promise.resolve());
    const guest = await lanes.enter("main");
    await turn();
    place.leave();
    guest?.release();
    await waiting;
    expect(lanes.counts().main.active).toBe(0);
  });

  it("stays one place if another wait begins and ends while the place waits to be taken again", async () => {
    const lanes = lanesOf(1);
    const place = new Place(lanes, "main", (await lanes.enter("main")) as Slot);
    const one = place.without(Promise.resolve("one"));
    const guest = await lanes.enter("main");
    await turn();
    const two = place.without(Promise.resolve("two"));
    await turn();
    guest?.release();
    expect(await Promise.all([one, two])).toEqual(["one", "two"]);
    expect(lanes.counts().main).toMatchObject({ active: 1, waiting: 0 });
    place.leave();
    expect(lanes.counts().main.active).toBe(0);
  });

  it("is not kept if another wait is open when the place could be taken again", async () => {
    const lanes = lanesOf(1);
    const place = new Place(lanes, "main", (await lanes.enter("main")) as Slot);
    const one = place.without(Promise.resolve("one"));
    const guest = await lanes.enter("main");
    await turn();
    const other = Promise.withResolvers<string>();
    const two = place.without(other.promise);
    guest?.release();
    expect(await one).toBe("one");
    expect(lanes.counts().main.active).toBe(0);
    other.resolve("two");
    expect(await two).toBe("two");
    expect(lanes.counts().main.active).toBe(1);
    place.leave();
    expect(lanes.counts().main.active).toBe(0);
  });

  it("does not wait for the lane after the run has left it", async () => {
    const lanes = lanesOf(1);
    const place = new Place(lanes, "main", (await lanes.enter("main")) as Slot);
    const other = Promise.withResolvers<void>();
    let isBack = false;
    void place.without(other.promise).then(() => {
      isBack = true;
    });
    await lanes.enter("main");
    place.leave();
    other.resolve();
    await turn();
    expect(isBack).toBe(true);
    expect(lanes.counts().main).toMatchObject({ active: 1, waiting: 0 });
  });

  it("is not taken again after the run has left it", async () => {
    const lanes = lanesOf(1);
    const place = new Place(lanes, "main", (await lanes.enter("main")) as Slot);
    const other = Promise.withResolvers<void>();
    const waiting = place.without(other.promise);
    place.leave();
    other.resolve();
    await waiting;
    expect(lanes.counts().main.active).toBe(0);
  });
});
