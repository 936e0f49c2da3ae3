/** Deliveries: added by their owner, moved by compare-and-set, listed in the store's order (L5, L12, M16, M17). */
import { expect } from "vitest";
import type { DeliveryState, NewDelivery } from "../../src/core/delivery/delivery.ts";
import { targetKey } from "../../src/core/delivery/target-key.ts";
import type { AgentId, DeliveryId, RunId } from "../../src/core/ids.ts";
import type { Op } from "../../src/core/store/change.ts";
import { idOf, type Opener, START, storeTest, type World } from "./fixture.ts";

const delivery = (agentId: AgentId, id: string, rest: Partial<NewDelivery> = {}): NewDelivery => ({
  id: id as DeliveryId,
  agentId,
  runId: "r" as RunId,
  target: { channel: "test", to: "ann", threadId: 7 },
  payload: { text: `text of ${id}`, replyToId: "m1" },
  createdAt: START,
  ...rest,
});
const add = (one: NewDelivery): Op => ({ op: "delivery.add", delivery: one });
const move = (id: string, from: DeliveryState, attempts: number, to: DeliveryState, rest: object = {}): Op => ({
  op: "delivery.move",
  id: id as DeliveryId,
  from,
  attempts,
  to,
  ...rest,
});
const get = (world: World, id: string) => world.store.delivery(id as DeliveryId);

export function outboxContract(open: Opener): void {
  storeTest("the owner's change adds a delivery, which is stored completely", open, async (world) => {
    const a = await world.agent("a");
    const owed = delivery(a.id, "d1");
    await world.done([add(owed)], a.owner);
    expect(await get(world, "d1")).toEqual({
      ...owed,
      n: expect.any(Number),
      state: "pending",
      attempts: 0,
      nextAt: START,
      endedAt: undefined,
      reason: undefined,
      receipt: undefined,
    });
    expect(await world.refused([add(delivery(a.id, "d2"))])).toBe("fenced");
    expect(await get(world, "d2")).toBeUndefined();
  });

  storeTest("a delivery is reported as next for its target only if no other one to it is open", open, async (world) => {
    const a = await world.agent("a");
    const next = async (one: NewDelivery) => {
      const [said] = await world.done([add(one)], a.owner);
      return said?.op === "delivery.add" ? said.next : undefined;
    };
    const otherTarget = { target: { channel: "test", to: "bob" } };
    // A store may omit this; if it reports it, it must be true.
    expect([undefined, "d1"]).toContain(await next(delivery(a.id, "d1")));
    expect(await next(delivery(a.id, "d2"))).toBeUndefined();
    expect([undefined, "e1"]).toContain(await next(delivery(a.id, "e1", otherTarget)));
    await world.done([move("d1", "pending", 0, "sending")]);
    await world.done([move("d2", "pending", 0, "failed")]);
    expect(await next(delivery(a.id, "d3"))).toBeUndefined();
    const ended = { state: "suppressed", reason: "silent reply" } as const;
    await world.done([move("d1", "sending", 1, "sent"), move("d3", "pending", 0, "failed")]);
    expect(await next(delivery(a.id, "d4", { ended }))).toBeUndefined();
    expect([undefined, "d5"]).toContain(await next(delivery(a.id, "d5")));
  });

  storeTest("the same delivery cannot be added twice", open, async (world) => {
    const a = await world.agent("a");
    await world.done([add(delivery(a.id, "d1"))], a.owner);
    expect(await world.refused([{ op: "fact.put", key: "f", value: "1" }, add(delivery(a.id, "d1"))], a.owner)).toBe(
      "conflict",
    );
    expect(await world.store.fact("f")).toBeUndefined();
    expect(await world.store.deliveries({ limit: 10 })).toHaveLength(1);
  });

  storeTest("a delivery that is added as ended is never open", open, async (world) => {
    const a = await world.agent("a");
    await world.done([add(delivery(a.id, "d1", { ended: { state: "suppressed", reason: "silent reply" } }))], a.owner);
    const ended = await get(world, "d1");
    expect(ended).toMatchObject({ state: "suppressed", reason: "silent reply" });
    expect(ended?.endedAt).toBeGreaterThanOrEqual(START);
    expect(await world.store.deliveries({ limit: 10 })).toEqual([]);
  });

  storeTest(
    "a move names the state and attempts it starts from, and of two moves only one succeeds",
    open,
    async (world) => {
      const a = await world.agent("a");
      await world.done([add(delivery(a.id, "d1"))], a.owner);
      const [one, two] = await Promise.all([
        world.commit([move("d1", "pending", 0, "sending")]),
        world.commit([move("d1", "pending", 0, "sending")]),
      ]);
      expect(one).toMatchObject({ ok: true });
      expect(two).toMatchObject({ ok: false, refused: "conflict" });
      expect(await get(world, "d1")).toMatchObject({ state: "sending", attempts: 1 });
      expect(await world.refused([move("d1", "sending", 0, "sent")])).toBe("conflict");
      expect(await world.refused([move("d1", "pending", 1, "sent")])).toBe("conflict");
      expect(await world.refused([move("none", "pending", 0, "sending")])).toBe("missing");
      await world.done([move("d1", "sending", 1, "pending", { nextAt: START + 500, reason: "busy" })]);
      expect(await get(world, "d1")).toMatchObject({
        state: "pending",
        attempts: 1,
        nextAt: START + 500,
        reason: "busy",
      });
      await world.done([move("d1", "pending", 1, "sending")]);
      await world.done([move("d1", "sending", 2, "sent", { receipt: "their-id" })]);
      const sent = await get(world, "d1");
      expect(sent).toMatchObject({ state: "sent", attempts: 2, receipt: "their-id" });
      expect(sent?.endedAt).toBeGreaterThanOrEqual(START);
    },
  );

  storeTest("a person's retry reopens an ended delivery behind all others", open, async (world) => {
    const a = await world.agent("a");
    for (const id of ["d1", "d2", "d3"]) await world.done([add(delivery(a.id, id))], a.owner);
    await world.done([move("d1", "pending", 0, "failed", { reason: "refused for good" })]);
    expect(await order(world)).toEqual(["d2", "d3"]);
    await world.done([move("d1", "failed", 0, "pending", { toTail: true, payload: { text: "edited" } })]);
    expect(await world.store.delivery("d1" as DeliveryId)).toMatchObject({ payload: { text: "edited" } });
    expect(await order(world)).toEqual(["d2", "d3", "d1"]);
    expect((await get(world, "d1"))?.endedAt).toBeUndefined();
    await world.done([add(delivery(a.id, "d4"))], a.owner);
    expect(await order(world)).toEqual(["d2", "d3", "d1", "d4"]);
  });

  storeTest("deliveries are listed in order, by state, by agent and in pages", open, async (world) => {
    const a = await world.agent("a");
    const b = await world.agent("b");
    for (let i = 1; i <= 6; i++) {
      const held = i % 2 ? a : b;
      await world.done([add(delivery(held.id, `d${i}`))], held.owner);
    }
    await world.done([move("d2", "pending", 0, "sending")]);
    await world.done([move("d3", "pending", 0, "failed")]);
    await world.done([move("d4", "pending", 0, "unconfirmed")]);
    expect(await order(world)).toEqual(["d1", "d2", "d5", "d6"]);
    const page = await world.store.deliveries({ limit: 2 });
    expect(page.map((one) => one.id)).toEqual(["d1", "d2"]);
    const next = await world.store.deliveries({ limit: 2, afterN: page.at(-1)?.n ?? 0 });
    expect(next.map((one) => one.id)).toEqual(["d5", "d6"]);
    expect(await order(world, { states: ["failed", "unconfirmed"] })).toEqual(["d3", "d4"]);
    expect(await order(world, { agentId: a.id })).toEqual(["d1", "d5"]);
    expect(await order(world, { agentId: b.id, states: ["unconfirmed", "pending"] })).toEqual(["d4", "d6"]);
    expect(await order(world, { agentId: idOf("unknown") })).toEqual([]);
  });

  storeTest("the unconfirmed deliveries of a target are listed, the last first", open, async (world) => {
    const a = await world.agent("a");
    const elsewhere = { target: { channel: "test", to: "bob" } };
    for (const id of ["d1", "d2", "d3", "d4"]) await world.done([add(delivery(a.id, id))], a.owner);
    await world.done([add(delivery(a.id, "e1", elsewhere))], a.owner);
    for (const id of ["d1", "d3", "d4", "e1"]) await world.done([move(id, "pending", 0, "unconfirmed")]);
    const listed = async (limit: number) =>
      (await world.store.unconfirmed(targetKey(delivery(a.id, "d").target), { limit })).map(({ id }) => id);
    expect(await listed(10)).toEqual(["d4", "d3", "d1"]);
    expect(await listed(1)).toEqual(["d4"]);
    await world.done([move("d1", "unconfirmed", 0, "pending", { toTail: true })]);
    await world.done([move("d4", "unconfirmed", 0, "sent")]);
    expect(await listed(10)).toEqual(["d3"]);
    await world.done([move("d1", "pending", 0, "unconfirmed")]);
    expect(await listed(10)).toEqual(["d1", "d3"]);
  });
  mailboxContract(open);
}

const ANN = { channel: "api", to: "ann" };
const waits = { state: "waiting-reader" } as const;
const inMailbox = (agentId: AgentId, id: string, to = "ann") =>
  add(delivery(agentId, id, { target: { channel: "api", to }, waits }));

/** Deliveries that no connector sends: in a mailbox, or without a route (M26, M27). */
function mailboxContract(open: Opener): void {
  storeTest("a delivery in a mailbox is listed as open and is never the head of its target", open, async (world) => {
    const a = await world.agent("a");
    const [said] = await world.done([inMailbox(a.id, "m1")], a.owner);
    expect(said).toBeUndefined();
    await world.done([add(delivery(a.id, "d1", { target: ANN }))], a.owner);
    expect(await get(world, "m1")).toMatchObject({ state: "waiting-reader", attempts: 0, endedAt: undefined });
    expect((await world.store.deliveryHead(targetKey(ANN)))?.id).toBe("d1");
    expect(await order(world)).toEqual(["m1", "d1"]);
    expect(await order(world, { states: ["pending", "sending"] })).toEqual(["d1"]);
    expect(await order(world, { states: ["waiting-reader"] })).toEqual(["m1"]);
    expect(await order(world, { agentId: a.id })).toEqual(["m1", "d1"]);
  });

  storeTest("a mailbox is read in pages, and each mailbox by itself", open, async (world) => {
    const a = await world.agent("a");
    const b = await world.agent("b");
    for (let i = 1; i <= 5; i++) {
      const held = i % 2 ? a : b;
      await world.done([inMailbox(held.id, `m${i}`)], held.owner);
    }
    await world.done([inMailbox(a.id, "other", "anna")], a.owner);
    await world.done([add(delivery(a.id, "t1", { target: { channel: "terminal", to: "owner" }, waits }))], a.owner);
    const page = await world.store.mailbox(targetKey(ANN), { limit: 2 });
    expect(page.map(({ id }) => id)).toEqual(["m1", "m2"]);
    const next = await world.store.mailbox(targetKey(ANN), { limit: 10, afterN: page[1]?.n });
    expect(next.map(({ id }) => id)).toEqual(["m3", "m4", "m5"]);
    expect((await world.store.mailboxesOf("terminal", { limit: 10 })).map(({ id }) => id)).toEqual(["t1"]);
    expect(await world.store.mailboxesOf("ap", { limit: 10 })).toEqual([]);
    expect(await world.store.fullMailboxes(4)).toEqual([{ target: targetKey(ANN), count: 5 }]);
    expect(await world.store.fullMailboxes(5)).toEqual([]);
    expect(await world.store.waitingDeliveries()).toEqual({ "waiting-reader": 7, unroutable: 0 });
  });

  storeTest("deliveries of a mailbox are acknowledged in any order, by any node, each once", open, async (world) => {
    const a = await world.agent("a");
    for (const id of ["m1", "m2", "m3"]) await world.done([inMailbox(a.id, id)], a.owner);
    await world.done([move("m3", "waiting-reader", 0, "sent")]);
    await world.done([move("m1", "waiting-reader", 0, "sent", { receipt: "reader" })]);
    expect(await world.refused([move("m1", "waiting-reader", 0, "sent")])).toBe("conflict");
    expect(await get(world, "m1")).toMatchObject({ state: "sent", receipt: "reader", endedAt: expect.any(Number) });
    const left = await world.store.mailbox(targetKey(ANN), { limit: 10 });
    expect(left.map(({ id }) => id)).toEqual(["m2"]);
  });

  storeTest(
    "a delivery without a route waits, and gets its address and a new age with its route",
    open,
    async (world) => {
      const a = await world.agent("a");
      const nowhere = { channel: "person", to: "owner" };
      const unroutable = { target: nowhere, waits: { state: "unroutable", reason: "no route" } } as const;
      await world.done([add(delivery(a.id, "u1", unroutable)), add(delivery(a.id, "u2", unroutable))], a.owner);
      await world.done([add(delivery(a.id, "d1"))], a.owner);
      expect(await get(world, "u1")).toMatchObject({ state: "unroutable", reason: "no route", target: nowhere });
      expect(await world.store.deliveryHead(targetKey(nowhere))).toBeUndefined();
      expect(await order(world, { states: ["unroutable"] })).toEqual(["u1", "u2"]);
      expect(await world.store.waitingDeliveries()).toEqual({ "waiting-reader": 0, unroutable: 2 });
      const target = { channel: "test", to: "ann", threadId: 7 };
      const routed = move("u1", "unroutable", 0, "pending", { toTail: true, target });
      const [one, two] = await Promise.all([world.commit([routed]), world.commit([routed])]);
      expect([one?.ok, two?.ok].sort()).toEqual([false, true]);
      expect(await get(world, "u1")).toMatchObject({ state: "pending", target, attempts: 0 });
      expect((await get(world, "u1"))?.createdAt).toBeGreaterThan(START);
      expect((await world.store.deliveryHead(targetKey(target)))?.id).toBe("d1");
      expect(await order(world)).toEqual(["u2", "d1", "u1"]);
      await world.done([move("u2", "unroutable", 0, "waiting-reader", { toTail: true, target: ANN })]);
      expect((await world.store.mailbox(targetKey(ANN), { limit: 5 })).map(({ id }) => id)).toEqual(["u2"]);
    },
  );
}

async function order(world: World, filter: { states?: DeliveryState[]; agentId?: AgentId } = {}): Promise<string[]> {
  return (await world.store.deliveries({ limit: 100, ...filter })).map((one) => one.id);
}
