/** Whether another node may still be sending: a second send would show a delivery twice (L12). */
import { describe, expect, test } from "vitest";
import { virtualClock } from "../../../test/kit/clock.ts";
import type { Delivery } from "../../core/delivery/delivery.ts";
import { mayBeSentByOther } from "./other-sender.ts";
import type { Target } from "./target-queue.ts";

const TIMEOUT = 60_000;
const START = 1_000_000;

function world(other?: { left?: boolean; leaseUntil?: number }) {
  const clock = virtualClock(START);
  const nodes = [
    { node: 1, leaseUntil: START + 1, left: false },
    ...(other ? [{ node: 2, leaseUntil: START + 10_000, left: false, ...other }] : []),
  ];
  const store = { nodes: async () => nodes } as never;
  const target = {} as Target;
  const ask = (delivery: Partial<Delivery> = {}, idempotent = false): Promise<boolean> =>
    mayBeSentByOther(
      { clock, store },
      { node: 1 as never, sendTimeoutMs: TIMEOUT },
      target,
      { id: "d", attempts: 1, node: 2, ...delivery } as Delivery,
      idempotent,
    );
  return { clock, ask };
}

describe("a delivery that is marked as being sent", () => {
  test("by nobody, or by this node, is not sent by another", async () => {
    const { ask } = world({});
    expect(await ask({ node: undefined })).toBe(false);
    expect(await ask({ node: 1 as never })).toBe(false);
  });

  test("by a node that is gone, or that left, is not sent any more", async () => {
    expect(await world().ask()).toBe(false);
    expect(await world({ left: true }).ask()).toBe(false);
  });

  test.each([true, false])("by a node whose lease lasts may be sent (idempotent: %s)", async (idempotent) => {
    const { clock, ask } = world({});
    expect(await ask({}, idempotent)).toBe(true);
    clock.advanceSync(9_999);
    expect(await ask({}, idempotent)).toBe(true);
  });

  test("by a node whose lease ended gets the time of one send from when that was seen, unless a repetition is harmless", async () => {
    const { clock, ask } = world({ leaseUntil: START });
    expect(await ask({}, true)).toBe(false);
    expect(await ask()).toBe(true);
    clock.advanceSync(TIMEOUT);
    expect(await ask()).toBe(true);
    clock.advanceSync(1);
    expect(await ask()).toBe(false);
  });

  test.each([{ attempts: 2 }, { id: "other" as never }])("gets that time again as %j", async (other) => {
    const { clock, ask } = world({ leaseUntil: START });
    expect(await ask()).toBe(true);
    clock.advanceSync(TIMEOUT + 1);
    expect(await ask(other)).toBe(true);
    clock.advanceSync(TIMEOUT);
    expect(await ask(other)).toBe(true);
    clock.advanceSync(1);
    expect(await ask(other)).toBe(false);
  });
});
