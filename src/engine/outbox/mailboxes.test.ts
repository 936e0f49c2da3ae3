import { describe, expect, it } from "vitest";
import { type Channel, channel } from "../../../test/kit/channel.ts";
import { TestEngine } from "../../../test/kit/engine.ts";
import { dieAt } from "../../../test/kit/store.ts";
import { apiMailbox, OWNER_MAILBOXES } from "../../core/delivery/route.ts";
import { targetKey } from "../../core/delivery/target-key.ts";
import type { DeliveryId } from "../../core/ids.ts";
import { Mailboxes } from "./mailboxes.ts";

const HOUR = 3600_000;
const DAY = 24 * HOUR;
const ANN = [apiMailbox("ann")];
const onApi = { on: "api", name: "ann" } as const;

const open = (system: Parameters<typeof TestEngine.open>[0] = {}) =>
  TestEngine.open({ ...system, system: { pollMs: HOUR, ...system.system } });
const texts = async (engine: TestEngine, mailbox = ANN) =>
  (await engine.system.deliveries.mailboxes.page(mailbox)).items.map(({ payload }) => payload.text);
const ids = async (engine: TestEngine, mailbox = ANN) =>
  (await engine.system.deliveries.mailboxes.page(mailbox)).items.map(({ id }) => id);
/** The connectors of the next start. */
const withChannel = (engine: TestEngine, one: Channel) => (engine.channels as Map<string, Channel>).set(one.name, one);

describe("a page of a mailbox", () => {
  const asked = async (limit: number | undefined) => {
    const limits: number[] = [];
    const store = {
      mailbox: async (_key: string, { limit: most }: { limit: number }) => {
        limits.push(most);
        return Array.from({ length: most }, (_none, n) => ({ n: n + 1 }));
      },
    };
    const { items, next } = await new Mailboxes({ store } as never, { shared: false }).page(ANN, { limit });
    return [limits, items.length, next];
  };

  it.each([
    [undefined, 100],
    [0, 1],
    [1.9, 1],
    [500, 500],
    [501, 500],
  ])("of %s deliveries has at most %d, and names where the next one begins", async (limit, most) => {
    expect(await asked(limit)).toEqual([[most], most, most]);
  });
});

describe("a mailbox", () => {
  it("holds what is said to an API user until it is acknowledged, in any order and each once", async () => {
    const engine = await open();
    for (const text of ["one", "two", "three"]) await engine.tell(text, onApi);
    expect(await texts(engine)).toEqual(["answer to one", "answer to two", "answer to three"]);
    await engine.advance(2 * DAY);
    const [one, two, three] = (await ids(engine)) as [DeliveryId, DeliveryId, DeliveryId];
    const { mailboxes } = engine.system.deliveries;
    expect(await mailboxes.acknowledge(ANN, [three, one])).toEqual([three, one]);
    expect(await texts(engine)).toEqual(["answer to two"]);
    expect(await mailboxes.acknowledge(ANN, [one])).toEqual([one]);
    expect((await engine.deliveries()).map(({ state }) => state)).toEqual(["sent", "waiting-reader", "sent"]);
    expect(await engine.system.deliveries.counts()).toEqual({ "waiting-reader": 1, unroutable: 0 });
    await mailboxes.acknowledge(ANN, [two]);
    expect(await texts(engine)).toEqual([]);
  });

  it("gives its deliveries to nobody else: another user can neither read nor acknowledge them", async () => {
    const engine = await open();
    await engine.tell("a secret", onApi);
    const [id] = (await ids(engine)) as [DeliveryId];
    const { mailboxes } = engine.system.deliveries;
    for (const other of [[apiMailbox("bob")], [apiMailbox("Ann")], [apiMailbox("owner")], OWNER_MAILBOXES]) {
      expect((await mailboxes.page(other)).items).toEqual([]);
      expect(await mailboxes.acknowledge(other, [id])).toEqual([]);
    }
    expect(await texts(engine)).toEqual(["answer to a secret"]);
  });

  it("is read in pages", async () => {
    const engine = await open();
    for (const text of ["1", "2", "3"]) await engine.tell(text, onApi);
    const { mailboxes } = engine.system.deliveries;
    const first = await mailboxes.page(ANN, { limit: 2 });
    expect(first.items).toHaveLength(2);
    const rest = await mailboxes.page(ANN, { after: first.next ?? 0, limit: 2 });
    expect(rest).toMatchObject({ items: [{ payload: { text: "answer to 3" } }], next: null });
  });

  it("takes a limit that is no whole number, too small or too large", async () => {
    const engine = await open();
    for (const text of ["1", "2", "3"]) await engine.tell(text, onApi);
    const { mailboxes } = engine.system.deliveries;
    const sizes = await Promise.all(
      [1.9, 0, -5, 1e9].map(async (limit) => (await mailboxes.page(ANN, { limit })).items.length),
    );
    expect(sizes).toEqual([1, 1, 1, 3]);
  });

  it("survives a kill between reading and acknowledging, and shows the same id again", async () => {
    const engine = await open();
    await engine.tell("hello", onApi);
    const before = await ids(engine);
    engine.onCommit = dieAt("mailbox.read", "before");
    void engine.system.deliveries.mailboxes.acknowledge(ANN, before).catch(() => undefined);
    await engine.settle();
    await engine.restart();
    expect(await ids(engine)).toEqual(before);
    expect(await engine.system.deliveries.mailboxes.acknowledge(ANN, before)).toEqual(before);
    await engine.restart();
    expect(await ids(engine)).toEqual([]);
  });

  it("is followed: what waits comes first, then what arrives, each once", async () => {
    const engine = await open();
    await engine.tell("before", onApi);
    const shown: string[] = [];
    const stop = engine.system.deliveries.mailboxes.follow(ANN, ({ payload }) => shown.push(payload.text ?? ""));
    await engine.settle();
    await engine.tell("after", onApi);
    await engine.advance(HOUR);
    expect(shown).toEqual(["answer to before", "answer to after"]);
    stop();
    await engine.tell("unheard", onApi);
    expect(shown).toHaveLength(2);
  });

  it("ends what nobody reads: after its time, and beyond its size the oldest first", async () => {
    const engine = await open({ settings: { mailbox: { maxWaiting: 3, retentionDays: 5 } } });
    for (let n = 1; n <= 5; n++) await engine.tell(`${n}`, onApi);
    await engine.advance(HOUR);
    expect(await texts(engine)).toEqual(["answer to 3", "answer to 4", "answer to 5"]);
    expect((await engine.deliveries())[0]).toMatchObject({
      state: "failed",
      reason: "never read: the mailbox is full",
    });
    await engine.advance(5 * DAY);
    expect(await texts(engine)).toEqual([]);
    expect((await engine.deliveries()).at(-1)).toMatchObject({ state: "failed", reason: "never read" });
  });

  it("of a terminal is emptied by the next terminal that attaches", async () => {
    const engine = await open();
    const terminal = { on: "terminal", name: "owner" } as const;
    await engine.tell("remind me", terminal);
    expect(await texts(engine, [...OWNER_MAILBOXES])).toEqual(["answer to remind me"]);
    const attached = channel("terminal", "ambiguous");
    withChannel(engine, attached);
    await engine.restart();
    await engine.advance(1_000);
    expect(attached.shown()).toEqual(["answer to remind me"]);
    expect((await engine.deliveries()).map(({ state }) => state)).toEqual(["sent"]);
  });
});

describe("a delivery without a route", () => {
  const later = { on: "later", name: "ann" } as const;

  it("is listed as unroutable instead of pending forever, and delivered exactly once when its connector exists", async () => {
    const engine = await open();
    await engine.tell("hello", later);
    expect((await engine.deliveries())[0]).toMatchObject({ state: "unroutable", reason: 'no connector "later"' });
    expect(await engine.system.deliveries.counts()).toEqual({ "waiting-reader": 0, unroutable: 1 });
    await engine.advance(3 * DAY);
    const one = channel("later");
    withChannel(engine, one);
    await engine.restart();
    await engine.advance(1_000);
    expect(one.calls).toHaveLength(1);
    expect((await engine.deliveries())[0]).toMatchObject({ state: "sent" });
    await engine.restart();
    await engine.advance(HOUR);
    expect(one.calls).toHaveLength(1);
  });

  it("is queued once although the process dies around the move", async () => {
    for (const when of ["before", "after"] as const) {
      const engine = await open();
      await engine.tell("hello", later);
      const one = channel("later");
      withChannel(engine, one);
      engine.crash();
      await engine.retire();
      engine.onCommit = dieAt("waiting.pending", when);
      void engine.boot();
      await engine.settle();
      expect(engine.alive).toBe(false);
      await engine.restart();
      await engine.advance(1_000);
      expect(one.calls).toHaveLength(1);
      expect((await engine.deliveries()).map(({ state }) => state)).toEqual(["sent"]);
    }
  });

  it("fails with `no route` after its time", async () => {
    const engine = await open({ settings: { outbox: { maxUnroutableAgeHours: 48 } } });
    await engine.tell("hello", later);
    await engine.advance(DAY);
    expect((await engine.deliveries())[0]?.state).toBe("unroutable");
    await engine.advance(DAY + HOUR);
    expect((await engine.deliveries())[0]).toMatchObject({ state: "failed", reason: "no route" });
  });

  it("can be dropped by a person, and a retry without a route lists it again", async () => {
    const engine = await open();
    await engine.tell("hello", later);
    const { deliveries } = engine.system;
    const [row] = await deliveries.list({ states: ["unroutable"] });
    await deliveries.retry(row?.id as DeliveryId);
    await engine.advance(1_000);
    expect((await engine.deliveries())[0]?.state).toBe("unroutable");
    await deliveries.drop(row?.id as DeliveryId);
    expect((await engine.deliveries())[0]).toMatchObject({ state: "failed", reason: "dropped by a person" });
  });

  it("in an older database, pending for a connector that does not exist, becomes unroutable", async () => {
    const one = channel("later");
    one.sending = () => ({ status: "retry", reason: "busy" });
    const engine = await open({ channels: [channel("test"), one] });
    await engine.tell("hello", later);
    expect((await engine.deliveries())[0]?.state).toBe("pending");
    (engine.channels as Map<string, Channel>).delete("later");
    await engine.restart();
    expect((await engine.deliveries())[0]).toMatchObject({ state: "unroutable", attempts: 1 });
    expect(await engine.store.deliveryHead(targetKey({ channel: "later", to: "ann" }))).toBeUndefined();
  });
});
