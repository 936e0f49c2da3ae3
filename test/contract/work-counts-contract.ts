/** How much is under way: agents at work, deliveries on their way, messages that failed. */
import { expect } from "vitest";
import type { DeliveryId, RunId } from "../../src/core/ids.ts";
import type { Op } from "../../src/core/store/change.ts";
import { type Opener, START, storeTest, userBody, type World } from "./fixture.ts";

const counts = (world: World, since = 0) => world.store.workCounts(since);

export function workCountsContract(open: Opener): void {
  storeTest("work is counted while it is open", open, async (world) => {
    expect(await counts(world)).toEqual({ busy: 0, undelivered: 0, failed: 0 });
    const [a, b] = [await world.agent("a"), await world.agent("b")];
    await world.agent("c");
    await world.post(a.id);
    await world.post(a.id);
    await world.post(b.id);
    expect(await counts(world)).toMatchObject({ busy: 2 });
    await world.openRun(a, "run-1", [1, 2]);
    expect(await counts(world)).toMatchObject({ busy: 2 });
  });

  storeTest(
    "deliveries are counted until they end: on their way, in a mailbox or without a route",
    open,
    async (world) => {
      const a = await world.agent("a");
      const target = { channel: "test", to: "ann" };
      const add = (id: string, waits?: "waiting-reader" | "unroutable"): Op => ({
        op: "delivery.add",
        delivery: {
          ...{
            id: id as DeliveryId,
            agentId: a.id,
            runId: "r" as RunId,
            target,
            payload: { text: id },
            createdAt: START,
          },
          waits: waits && { state: waits },
        },
      });
      await world.done([add("d1"), add("d2", "waiting-reader"), add("d3", "unroutable"), add("d4")], a.owner);
      expect(await counts(world)).toMatchObject({ undelivered: 4 });
      const move = { op: "delivery.move", from: "pending", attempts: 0 } as const;
      await world.done([{ ...move, id: "d1" as DeliveryId, to: "sending" }]);
      await world.done([{ ...move, id: "d4" as DeliveryId, to: "failed" }]);
      expect(await counts(world)).toMatchObject({ undelivered: 3 });
    },
  );

  storeTest("messages that failed are counted since a time, and no others", open, async (world) => {
    const a = await world.agent("a");
    for (const state of ["failed", "dropped", "answered", "failed"] as const) {
      const { seq } = await world.post(a.id, userBody(state));
      await world.done(
        [{ op: "message.settle", settlements: [{ seq, from: "waiting", state, reason: "r" }] }],
        a.owner,
      );
    }
    expect(await counts(world)).toEqual({ busy: 0, undelivered: 0, failed: 2 });
    const [last] = await world.store.unanswered({ limit: 1, states: ["failed"] });
    expect((await counts(world, last?.settledAt)).failed).toBe(0);
  });
}
