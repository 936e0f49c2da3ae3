import { describe, expect, it } from "vitest";
import { type Channel, channel, type Sending } from "../../../test/kit/channel.ts";
import { TestEngine } from "../../../test/kit/engine.ts";
import { gate } from "../../../test/kit/gate.ts";
import { dieAt } from "../../../test/kit/store.ts";
import type { SendingClass } from "../../core/delivery/delivery.ts";
import type { DeliveryId } from "../../core/ids.ts";
import type { SendResult } from "../../core/ports/connector.ts";
import { dropDelivery, editDelivery, listDeliveries, retryDelivery } from "./dead-letters.ts";

const CLASSES: readonly SendingClass[] = ["idempotent", "reconcilable", "ambiguous"];
const HOUR = 3600_000;

async function engineWith(one: Channel, more: Parameters<typeof TestEngine.open>[0] = {}): Promise<TestEngine> {
  return TestEngine.open({
    channels: [one],
    ...more,
    system: { pollMs: HOUR, ...more.system },
    settings: { outbox: { maxAgeHours: 2 }, ...more.settings },
  });
}

const state = async (engine: TestEngine) => (await engine.deliveries()).map((delivery) => delivery.state);
const first = async (engine: TestEngine) => {
  const [delivery] = await engine.deliveries();
  if (!delivery) throw new TypeError("there is no delivery");
  return delivery;
};
/** Answers in turn, then `sent`. */
const answers =
  (...results: readonly (SendResult | "throw" | "hang")[]): Sending =>
  (_delivery, n) => {
    const result = results[n - 1] ?? { status: "sent" };
    if (result === "throw") throw new TypeError("the socket is closed");
    return result === "hang" ? new Promise<never>(() => {}) : result;
  };

describe("how a send ends, by sending class", () => {
  const unknown: SendResult = { status: "unknown", reason: "timeout after sending" };
  const retry: SendResult = { status: "retry", reason: "busy" };
  const refused: SendResult = { status: "refused", reason: "blocked" };

  for (const sendingClass of CLASSES) {
    it(`${sendingClass}: a successful send happens once and keeps its receipt`, async () => {
      const one = channel("test", sendingClass);
      one.sending = () => ({ status: "sent", receipt: "r1" });
      const engine = await engineWith(one);
      await engine.tell("hi");
      expect(await first(engine)).toMatchObject({ state: "sent", receipt: "r1", attempts: 1 });
      await engine.advance(HOUR);
      expect(one.calls).toHaveLength(1);
    });

    it(`${sendingClass}: a refused send fails for good with the reason`, async () => {
      const one = channel("test", sendingClass);
      one.sending = answers(refused);
      const engine = await engineWith(one);
      await engine.tell("hi");
      await engine.advance(HOUR);
      expect(await first(engine)).toMatchObject({ state: "failed", reason: "blocked", attempts: 1 });
      expect(one.calls).toHaveLength(1);
    });

    it(`${sendingClass}: a send the channel certainly did not take is retried under the same id`, async () => {
      const one = channel("test", sendingClass);
      one.sending = answers(retry, retry);
      const engine = await engineWith(one);
      await engine.tell("hi");
      expect(await state(engine)).toEqual(["pending"]);
      await engine.advance(60_000);
      expect(await first(engine)).toMatchObject({ state: "sent", attempts: 3 });
      expect(new Set(one.calls.map(({ id }) => id)).size).toBe(1);
      expect(one.lookups).toHaveLength(0);
    });
  }

  for (const [how, result] of [
    ["unknown", unknown],
    ["thrown", "throw"],
    ["never answered", "hang"],
  ] as const) {
    it(`idempotent, ${how}: sent again under the same id`, async () => {
      const one = channel("test", "idempotent");
      one.sending = answers(result);
      const engine = await engineWith(one);
      await engine.tell("hi");
      await engine.advance(2 * 60_000);
      expect(await state(engine)).toEqual(["sent"]);
      expect(one.calls).toHaveLength(2);
      expect(engine.shown()).toEqual(["answer to hi"]);
    });

    it(`ambiguous, ${how}: never sent again, listed as unconfirmed`, async () => {
      const one = channel("test", "ambiguous");
      one.sending = answers(result);
      const engine = await engineWith(one);
      await engine.tell("hi");
      await engine.advance(4 * HOUR);
      expect(await state(engine)).toEqual(["unconfirmed"]);
      expect(one.calls).toHaveLength(1);
    });

    for (const [found, calls, end] of [
      ["arrived", 1, "sent"],
      ["absent", 2, "sent"],
      ["unknown", 1, "unconfirmed"],
    ] as const) {
      it(`reconcilable, ${how}, found ${found}: ends ${end} after ${calls} sends`, async () => {
        const one = channel("test", "reconcilable");
        one.sending = answers(result);
        one.lookup = async () => found;
        const engine = await engineWith(one);
        await engine.tell("hi");
        await engine.advance(4 * HOUR);
        expect(await state(engine)).toEqual([end]);
        expect(one.calls).toHaveLength(calls);
        expect(one.lookups.length).toBeGreaterThan(0);
      });
    }
  }

  it("reconcilable, whose lookup throws or never answers: ends unconfirmed and frees its target", async () => {
    for (const lookup of [
      () => {
        throw new TypeError("no network");
      },
      () => new Promise<never>(() => {}),
    ]) {
      const one = channel("test", "reconcilable");
      one.sending = answers(unknown);
      one.lookup = lookup;
      const engine = await engineWith(one);
      await engine.tell("one");
      await engine.tell("two");
      await engine.advance(4 * HOUR);
      expect(await state(engine)).toEqual(["unconfirmed", expect.stringMatching(/sent|failed/)]);
    }
  });

  it("looks up less and less often while the channel does not know", async () => {
    const one = channel("test", "reconcilable");
    one.sending = answers(unknown);
    const engine = await engineWith(one);
    await engine.tell("hi");
    await engine.advance(HOUR);
    expect(one.lookups.length).toBeGreaterThan(8);
    expect(one.lookups.length).toBeLessThan(30);
  });

  it("an invalid answer counts as unknown", async () => {
    const one = channel("test", "ambiguous");
    one.sending = () => ({ status: "maybe" }) as never;
    const engine = await engineWith(one);
    await engine.tell("hi");
    await engine.advance(5_000);
    expect(await state(engine)).toEqual(["unconfirmed"]);
    expect(one.calls).toHaveLength(1);
  });
});

describe("after a process died while sending", () => {
  for (const [sendingClass, found, calls, end] of [
    ["idempotent", "unknown", 2, "sent"],
    ["reconcilable", "arrived", 1, "sent"],
    ["reconcilable", "absent", 2, "sent"],
    ["ambiguous", "unknown", 1, "unconfirmed"],
  ] as const) {
    it(`${sendingClass}${sendingClass === "reconcilable" ? `, found ${found}` : ""}: ${calls} send(s), ends ${end}`, async () => {
      const one = channel("test", sendingClass);
      one.lookup = async () => found;
      const engine = await engineWith(one);
      engine.onCommit = dieAt("outbox.sent", "before");
      await engine.tell("hi");
      expect(await state(engine)).toEqual(["sending"]);
      await engine.restart();
      await engine.advance(60_000);
      expect(await state(engine)).toEqual([end]);
      expect(one.calls).toHaveLength(calls);
    });
  }

  it("a delivery without a committed intent is sent once, in every class", async () => {
    for (const sendingClass of CLASSES) {
      const one = channel("test", sendingClass);
      const engine = await engineWith(one);
      engine.onCommit = dieAt("outbox.sending", "before");
      await engine.tell("hi");
      expect(one.calls).toHaveLength(0);
      await engine.restart();
      expect(await state(engine)).toEqual(["sent"]);
      expect(one.calls).toHaveLength(1);
    }
  });

  it("commits the intent before the channel is called", async () => {
    const one = channel("test", "ambiguous");
    const engine = await engineWith(one);
    let seen: string | undefined;
    one.sending = async ({ id }) => {
      seen = (await engine.store.delivery(id))?.state;
      return { status: "sent" };
    };
    await engine.tell("hi");
    expect(seen).toBe("sending");
  });
});

describe("a store without room", () => {
  for (const onCommit of ["full", "unknown-lost", "unknown-applied"] as const) {
    it(`(${onCommit}) at the commit of "sent" does not cause a second send`, async () => {
      const one = channel("test", "idempotent");
      const engine = await engineWith(one);
      let left = 8;
      engine.onCommit = (change) => (change.site === "outbox.sent" && left-- > 0 ? onCommit : "go");
      await engine.tell("hi");
      await engine.advance(5 * 60_000);
      expect(await state(engine)).toEqual(["sent"]);
      expect(one.calls).toHaveLength(1);
    });

    it(`(${onCommit}) at the commit of the intent causes one send`, async () => {
      const one = channel("test", "ambiguous");
      const engine = await engineWith(one);
      engine.onCommit = (change, nth) => (change.site === "outbox.sending" && nth === 1 ? onCommit : "go");
      await engine.tell("hi");
      await engine.advance(60_000);
      expect(await state(engine)).toEqual(["sent"]);
      expect(one.calls).toHaveLength(1);
    });
  }
});

describe("order", () => {
  it("is kept per target, even if the first needs several tries", async () => {
    const one = channel("test");
    one.sending = answers({ status: "retry", reason: "busy" }, { status: "retry", reason: "busy" });
    const engine = await engineWith(one);
    for (const text of ["one", "two", "three"]) await engine.tell(text);
    await engine.advance(60_000);
    expect(engine.shown()).toEqual(["answer to one", "answer to two", "answer to three"]);
    expect(one.calls.map(({ payload }) => payload.text)).toEqual([
      "answer to one",
      "answer to one",
      "answer to one",
      "answer to two",
      "answer to three",
    ]);
  });

  it("a failing head blocks only its own target", async () => {
    const one = channel("test");
    one.sending = ({ target }) => (target.to === "ann" ? { status: "retry", reason: "down" } : { status: "sent" });
    const engine = await engineWith(one);
    await engine.tell("one", { name: "ann" });
    await engine.tell("two", { name: "ann" });
    await engine.tell("three", { name: "bob" });
    await engine.advance(10_000);
    expect(one.calls.filter(({ target }) => target.to === "bob")).toHaveLength(1);
    expect(one.calls.some(({ payload }) => payload.text === "answer to two")).toBe(false);
    const blocked = await engine.deliveries(await engine.agentId("ann"));
    expect(blocked.map((delivery) => delivery.state)).toEqual(["pending", "pending"]);
  });

  it("distinguishes targets by channel, account, recipient and thread", async () => {
    const one = channel("test");
    one.sending = ({ target }) =>
      target.threadId === undefined ? { status: "retry", reason: "down" } : { status: "sent" };
    const engine = await engineWith(one);
    await engine.tell("one");
    await engine.tell("two", { delivery: { channel: "test", to: "ann", threadId: 7 } });
    await engine.advance(1_000);
    expect(one.calls.map(({ target }) => target.threadId)).toContainEqual(7);
    expect(await state(engine)).toEqual(["pending", "sent"]);
  });

  it("is the order in the store after a restart", async () => {
    const one = channel("test");
    const hold = gate<SendResult>();
    one.sending = () => hold.promise;
    const engine = await engineWith(one);
    for (const text of ["one", "two", "three"]) await engine.tell(text);
    one.sending = () => ({ status: "sent" });
    await engine.restart();
    await engine.advance(10_000);
    expect(engine.shown()).toEqual(["answer to one", "answer to two", "answer to three"]);
  });

  it("keeps the limit of concurrent sends", async () => {
    const one = channel("test");
    let now = 0;
    let most = 0;
    const hold = gate<SendResult>();
    one.sending = async () => {
      most = Math.max(most, ++now);
      await hold.promise;
      now -= 1;
      return { status: "sent" };
    };
    const engine = await engineWith(one, { settings: { lanes: { main: 100 } } });
    const people = 70;
    for (let n = 0; n < people; n++) await engine.tell("hi", { name: `p${n}` });
    expect(most).toBe(64);
    hold.open({ status: "sent" });
    await engine.settle();
    expect(await state(engine)).toEqual(Array(people).fill("sent"));
  });
});

describe("a channel with a rate", () => {
  it("waits its turn before the delivery is marked as being sent, and sends all that were added meanwhile, in order", async () => {
    const one = channel("test", "ambiguous");
    let free = 0;
    one.admit = () => Math.max(0, free - engine.clock.now());
    const engine = await engineWith(one);
    free = engine.clock.now() + 5_000;
    await engine.tell("one");
    await engine.tell("two");
    expect(await state(engine)).toEqual(["pending", "pending"]);
    expect(one.calls).toHaveLength(0);
    await engine.advance(5_000);
    expect(await state(engine)).toEqual(["sent", "sent"]);
    expect(one.calls.map(({ payload }) => payload.text)).toEqual(["answer to one", "answer to two"]);
  });
});

describe("a connector that was on another node", () => {
  it("sends what has waited as soon as it is here and something is added, in order", async () => {
    const one = channel("test");
    let isAway = true;
    one.isRemote = () => isAway;
    const engine = await engineWith(one);
    await engine.tell("one");
    expect(await state(engine)).toEqual(["pending"]);
    isAway = false;
    await engine.tell("two");
    expect(await state(engine)).toEqual(["sent", "sent"]);
    expect(one.calls.map(({ payload }) => payload.text)).toEqual(["answer to one", "answer to two"]);
  });
});

describe("giving up", () => {
  it("a delivery older than the limit fails, names its last reason, and frees its target", async () => {
    const one = channel("test");
    one.sending = ({ payload }) =>
      payload.text === "answer to one" ? { status: "retry", reason: "no route" } : { status: "sent" };
    const engine = await engineWith(one, { settings: { outbox: { maxAgeHours: 1 } } });
    await engine.tell("one");
    await engine.advance(HOUR - 60_000);
    await engine.tell("two");
    await engine.advance(10 * 60_000);
    expect(await engine.deliveries()).toMatchObject([
      { state: "failed", reason: expect.stringContaining("no route") },
      { state: "sent" },
    ]);
  });

  it("a channel that asks for a week blocks its target no longer than the limit", async () => {
    const one = channel("test");
    one.sending = answers({ status: "retry", reason: "flood", afterMs: 7 * 24 * HOUR });
    const engine = await engineWith(one);
    await engine.tell("one");
    await engine.advance(HOUR);
    await engine.tell("two");
    await engine.advance(HOUR + 1_000);
    expect(await state(engine)).toEqual(["failed", "sent"]);
  });

  it("waits as long as the channel asks before the next try", async () => {
    const one = channel("test");
    one.sending = answers({ status: "retry", reason: "slow down", afterMs: 90_000 });
    const engine = await engineWith(one);
    await engine.tell("hi");
    await engine.advance(89_000);
    expect(one.calls).toHaveLength(1);
    await engine.advance(2_000);
    expect(one.calls).toHaveLength(2);
  });

  it("a delivery to a channel without a connector waits for a route, and fails when it is too old", async () => {
    const engine = await TestEngine.open({
      system: { pollMs: HOUR },
      settings: { outbox: { maxUnroutableAgeHours: 2 } },
    });
    await engine.tell("one", { delivery: { channel: "absent", to: "x" } });
    await engine.advance(HOUR);
    expect(await state(engine)).toEqual(["unroutable"]);
    await engine.advance(2 * HOUR);
    expect(await state(engine)).toEqual(["failed"]);
  });

  it("an interrupted send to a channel that was removed ends unconfirmed", async () => {
    const one = channel("test", "ambiguous");
    const engine = await engineWith(one);
    engine.onCommit = dieAt("outbox.sent", "before");
    await engine.tell("hi");
    (engine.channels as Map<string, Channel>).delete("test");
    await engine.restart();
    await engine.advance(4 * HOUR);
    expect(await state(engine)).toEqual(["unconfirmed"]);
  });
});

describe("what a person can do", () => {
  const ports = (engine: TestEngine) => engine.ports({ alive: true, name: "person" });

  it("an ended delivery can be sent with another text; one that is on its way cannot", async () => {
    const one = channel("test", "ambiguous");
    one.sending = answers({ status: "unknown", reason: "?" });
    const engine = await engineWith(one);
    await engine.tell("one");
    const { id } = await first(engine);
    await expect(editDelivery(ports(engine), id, "edited")).resolves.toMatchObject({ payload: { text: "edited" } });
    await expect(editDelivery(ports(engine), id, "again")).rejects.toMatchObject({ code: "invalid_input" });
    await engine.advance(HOUR);
    expect(await engine.store.delivery(id)).toMatchObject({ state: "sent", payload: { text: "edited" } });
    expect(engine.shown()).toEqual(["answer to one", "edited"]);
  });

  it("an ended delivery can be sent again; it joins the tail of its target", async () => {
    const one = channel("test", "ambiguous");
    one.sending = answers({ status: "unknown", reason: "?" });
    const engine = await engineWith(one);
    await engine.tell("one");
    const { id } = await first(engine);
    await expect(retryDelivery(ports(engine), id)).resolves.toMatchObject({ state: "pending" });
    await engine.advance(HOUR);
    expect((await engine.store.delivery(id))?.state).toBe("sent");
    expect(engine.shown()).toEqual(["answer to one", "answer to one"]);
  });

  it("a delivery that waits can be dropped, with its trace", async () => {
    const one = channel("test");
    one.sending = () => ({ status: "retry", reason: "down" });
    const engine = await engineWith(one);
    await engine.tell("one");
    const { id } = await first(engine);
    await dropDelivery(ports(engine), id);
    expect(await first(engine)).toMatchObject({ state: "failed", reason: "dropped by a person" });
    const calls = one.calls.length;
    await engine.advance(HOUR);
    expect(one.calls).toHaveLength(calls);
  });

  it("the engine sends a retried delivery at once, and the next one after a dropped one", async () => {
    const one = channel("test");
    one.sending = ({ payload }) =>
      payload.text === "answer to one" ? { status: "retry", reason: "down", afterMs: HOUR } : { status: "sent" };
    const engine = await engineWith(one);
    await engine.tell("one");
    await engine.tell("two");
    const { id } = await first(engine);
    await engine.system.deliveries.drop(id);
    await engine.settle();
    expect(await state(engine)).toEqual(["failed", "sent"]);
    one.sending = () => ({ status: "sent" });
    await engine.system.deliveries.retry(id);
    await engine.settle();
    expect(await engine.store.delivery(id)).toMatchObject({ state: "sent" });
    expect(engine.shown()).toEqual(["answer to one", "answer to two"]);
  });

  it("an impossible request is a typed error and changes nothing", async () => {
    const one = channel("test");
    one.sending = () => ({ status: "retry", reason: "down" });
    const engine = await engineWith(one);
    await engine.tell("one");
    const { id } = await first(engine);
    const unknown = "unknown.0" as DeliveryId;
    await expect(retryDelivery(ports(engine), unknown)).rejects.toMatchObject({ code: "not_found" });
    await expect(dropDelivery(ports(engine), unknown)).rejects.toMatchObject({ code: "not_found" });
    await expect(retryDelivery(ports(engine), id)).rejects.toMatchObject({ code: "invalid_input" });
    await dropDelivery(ports(engine), id);
    await expect(dropDelivery(ports(engine), id)).rejects.toMatchObject({ code: "invalid_input" });
  });

  it("of two people who retry the same delivery, one is refused", async () => {
    const one = channel("test");
    one.sending = () => ({ status: "refused", reason: "no" });
    const engine = await engineWith(one);
    await engine.tell("one");
    const { id } = await first(engine);
    const both = await Promise.allSettled([
      retryDelivery(engine.ports({ alive: true, name: "person1" }), id),
      retryDelivery(engine.ports({ alive: true, name: "person2" }), id),
    ]);
    expect(both.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
  });

  it("deliveries can be listed by state and by agent", async () => {
    const one = channel("test");
    one.sending = ({ target }) => (target.to === "ann" ? { status: "refused", reason: "no" } : { status: "sent" });
    const engine = await engineWith(one);
    await engine.tell("one", { name: "ann" });
    await engine.tell("two", { name: "bob" });
    expect(await listDeliveries(engine, { states: ["failed"] })).toHaveLength(1);
    expect(
      await listDeliveries(engine, { states: ["sent", "failed"], agentId: await engine.agentId("bob") }),
    ).toHaveLength(1);
    expect(await listDeliveries(engine)).toHaveLength(0);
  });
});

describe("stopping", () => {
  it("waits for the send under way and begins no other", async () => {
    const one = channel("test");
    const hold = gate<SendResult>();
    one.sending = () => hold.promise;
    const engine = await engineWith(one);
    await engine.tell("one");
    await engine.tell("two");
    const drained = engine.system.drain();
    await engine.settle();
    hold.open({ status: "sent" });
    await engine.settle();
    await drained;
    expect(one.calls).toHaveLength(1);
    expect(await state(engine)).toEqual(["sent", "pending"]);
    await engine.restart();
    expect(await state(engine)).toEqual(["sent", "sent"]);
    expect(one.calls).toHaveLength(2);
  });
});
