/** Retention: bounded portions, only of ended records, and never of history (M5). */
import { expect } from "vitest";
import type { DeliveryId, RunId } from "../../src/core/ids.ts";
import type { Prunable } from "../../src/core/store/change.ts";
import {
  type Held,
  type Opener,
  postedIn,
  postOp,
  runBody,
  START,
  storeTest,
  userBody,
  type World,
} from "./fixture.ts";

const FAR = START * 2;

export function retentionContract(open: Opener): void {
  storeTest("settled messages are pruned in bounded portions, unsettled ones stay at any age", open, async (world) => {
    const a = await world.agent("a");
    for (let i = 1; i <= 10; i++) await world.post(a.id, userBody(`${i}`));
    const odd = [1, 3, 5, 7, 9].map((seq) => ({ seq, from: "waiting" as const, state: "answered" as const }));
    await world.done([{ op: "message.settle", settlements: odd }], a.owner);
    await world.done([{ op: "message.take", runId: "r" as RunId, seqs: [2] }], a.owner);
    const portions = await pruneAll(world, "messages", FAR, 3);
    expect(portions).toEqual([2, 1, 2, 0]);
    const left = await world.store.messages(a.id, { limit: 20 });
    expect(left.map((message) => message.seq)).toEqual([10, 8, 6, 4, 2]);
    expect(await world.store.agent(a.id)).toMatchObject({ nextSeq: 11, waiting: 4, cursor: 3 });
    expect(await world.store.linesBack(a.id, { limit: 10 })).toHaveLength(2);
    expect(await world.post(a.id)).toMatchObject({ seq: 11 });
  });

  storeTest("records that ended after the limit stay", open, async (world) => {
    const a = await world.agent("a");
    await world.post(a.id);
    await world.post(a.id);
    await settle(world, a, 1);
    const settledAt = (await world.store.message(a.id, 1))?.settledAt ?? 0;
    world.now = settledAt + 1_000;
    await settle(world, a, 2);
    await pruneAll(world, "messages", settledAt, 10);
    expect(await world.store.messages(a.id, { limit: 5 })).toHaveLength(2);
    await pruneAll(world, "messages", settledAt + 1, 10);
    expect((await world.store.messages(a.id, { limit: 5 })).map((one) => one.seq)).toEqual([2]);
  });

  storeTest("questions that nobody has answered are pruned by their age, and no other fact", open, async (world) => {
    const asked = (n: number, askedAt?: number) =>
      ({ op: "fact.put", key: `question.${n}`, value: JSON.stringify({ question: "?", askedAt }) }) as const;
    await world.done([1, 2, 3, 4, 5].map((n) => asked(n, START + n)));
    await world.done([asked(6), { op: "fact.put", key: "other", value: '{"askedAt":1}' }]);
    await world.done([{ op: "fact.put", key: "questions", value: "not JSON" }]);
    expect(await pruneAll(world, "questions", START + 4, 2)).toEqual([2, 1, 0, 0]);
    const left = await Promise.all([1, 2, 3, 4, 5, 6].map((n) => world.store.fact(`question.${n}`)));
    expect(left.map((one) => one !== undefined)).toEqual([false, false, false, true, true, true]);
    expect(await world.store.fact("other")).toBeDefined();
    expect(await world.store.fact("questions")).toBeDefined();
  });

  storeTest("dedupe keys stay until their time is over and their message is settled", open, async (world) => {
    const a = await world.agent("a");
    const post = async (key: string, keepUntil: number) =>
      postedIn(await world.done([postOp({ agentId: a.id }, userBody(key), world.now, { dedupe: { key, keepUntil } })]));
    await post("unsettled", START);
    await post("settled", START);
    await post("long", FAR);
    await settle(world, a, 2);
    await settle(world, a, 3);
    await pruneAll(world, "dedupe", START + 1_000, 2);
    expect(await post("unsettled", START)).toMatchObject({ duplicate: true, seq: 1 });
    expect(await post("long", START)).toMatchObject({ duplicate: true, seq: 3 });
    expect(await post("settled", START)).toMatchObject({ duplicate: false, seq: 4 });
    // A key outlives its message if its own time is longer.
    await pruneAll(world, "messages", FAR, 10);
    expect(await world.store.message(a.id, 3)).toBeUndefined();
    await pruneAll(world, "dedupe", START + 1_000, 2);
    expect(await post("long", START)).toMatchObject({ duplicate: true, seq: 3 });
  });

  storeTest("ended deliveries and runs are pruned, open ones stay", open, async (world) => {
    const a = await world.agent("a");
    for (const id of ["d1", "d2", "d3", "d4"]) {
      await world.done(
        [
          {
            op: "delivery.add",
            delivery: { id: id as DeliveryId, agentId: a.id, target: {}, payload: { text: id }, createdAt: START },
          },
        ],
        a.owner,
      );
    }
    for (const id of ["d1", "d3"]) {
      const from = { from: "pending" as const, attempts: 0 };
      await world.done([{ op: "delivery.move", id: id as DeliveryId, ...from, to: "sent" }]);
    }
    await world.done([{ op: "delivery.move", id: "d2" as DeliveryId, from: "pending", attempts: 0, to: "sending" }]);
    await pruneAll(world, "deliveries", FAR, 3);
    const states = ["pending", "sending", "sent"] as const;
    const left = await world.store.deliveries({ limit: 10, states: [...states] });
    expect(left.map((one) => one.id)).toEqual(["d2", "d4"]);

    for (const id of ["r1", "r2"]) {
      await world.openRun(a, id);
      if (id === "r2") break;
      await world.done([{ op: "run.end", runId: id as RunId, body: runBody(), outcome: "ok" }], a.owner);
    }
    await pruneAll(world, "runs", FAR, 3);
    expect((await world.store.runs(a.id, { limit: 10 })).map((run) => run.id)).toEqual(["r2"]);
  });

  storeTest("the store's order numbers keep rising after all ended records were pruned", open, async (world) => {
    const a = await world.agent("a");
    const add = async (id: string) => {
      const delivery = { id: id as DeliveryId, agentId: a.id, target: {}, payload: { text: id }, createdAt: START };
      await world.done([{ op: "delivery.add", delivery }], a.owner);
      return (await world.store.delivery(delivery.id))?.n ?? 0;
    };
    await add("d1");
    const n = await add("d2");
    for (const id of ["d1", "d2"]) {
      const from = { from: "pending" as const, attempts: 0 };
      await world.done([{ op: "delivery.move", id: id as DeliveryId, ...from, to: "sent" }]);
    }
    await pruneAll(world, "deliveries", FAR, 10);
    // A reader that has read up to `n` must not miss later rows.
    expect(await add("d3")).toBeGreaterThan(n);
  });

  storeTest("old changes are pruned and can no longer be looked up; recent ones can", open, async (world) => {
    const old = world.change([{ op: "fact.put", key: "f", value: "1" }]);
    await world.store.commit(old);
    const limit = world.now;
    const recent = world.change([{ op: "fact.put", key: "f", value: "2" }]);
    await world.store.commit(recent);
    await pruneAll(world, "changes", limit, 2);
    expect(await world.store.outcome(old.id)).toBeUndefined();
    expect(await world.store.outcome(recent.id)).toMatchObject({ ok: true });
    expect(await world.store.fact("f")).toBe("2");
  });
}

async function pruneAll(world: World, what: Prunable, before: number, limit: number): Promise<number[]> {
  const portions: number[] = [];
  const counted = await world.store.eraser?.prunable(what, before);
  let after: string | undefined;
  do {
    const [pruned] = await world.done([{ op: "prune", what, before, limit, after }]);
    if (pruned?.op !== "prune") throw new Error("No answer.");
    expect(pruned.removed).toBeLessThanOrEqual(limit);
    portions.push(pruned.removed);
    after = pruned.next;
  } while (after !== undefined);
  // What `rookery engine prune` shows before it asks is what goes.
  expect(portions.reduce((sum, count) => sum + count, 0)).toBe(counted);
  return portions;
}

async function settle(world: World, held: Held, seq: number): Promise<void> {
  await world.done([{ op: "message.settle", settlements: [{ seq, from: "waiting", state: "answered" }] }], held.owner);
}
