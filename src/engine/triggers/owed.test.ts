/** What triggers are asked to deliver is owed: sent, in a mailbox, or listed as unroutable, never lost (M26, L5, L9). */
import { describe, expect, it } from "vitest";
import { type Channel, channel } from "../../../test/kit/channel.ts";
import { failure, lastText } from "../../../test/kit/model.ts";
import type { SettingsPart } from "../../../test/kit/settings.ts";
import { dieAt } from "../../../test/kit/store.ts";
import { parseConfig } from "../../config/parse-config.ts";
import { OWNER_MAILBOX, OWNER_MAILBOXES } from "../../core/delivery/route.ts";
import type { DeliveryId, SessionKey } from "../../core/ids.ts";
import { lastHeartbeatOf } from "./heartbeat/last-heartbeat.ts";
import { TriggerTestEngine } from "./triggers.test-kit.ts";

const MINUTE = 60_000;
const HALF = 30 * MINUTE;
const DAY = 24 * 60 * MINUTE;
const JOB = "heartbeat:main";
const ALERT = "The disk is full.";
const beating = (text = "{}"): SettingsPart => {
  const { heartbeat, profiles } = parseConfig({ text, file: "rookery.json5", env: {} }).config;
  return { heartbeat, profiles };
};

async function open(text?: string, more: Parameters<typeof TriggerTestEngine.open>[0] = {}) {
  const world = await TriggerTestEngine.open({ ...more, settings: { ...more.settings, ...beating(text) } });
  world.engine.script = () => ALERT;
  return world;
}

const states = async (world: TriggerTestEngine) => (await world.engine.deliveries()).map(({ state }) => state);
const alerts = (world: TriggerTestEngine, of = ALERT) =>
  world.engine.channel().calls.filter(({ payload }) => payload.text === of);

describe("an alert of the heartbeat", () => {
  it("without a route is unroutable, its slot says so and is no failure, and the owner's first message delivers it once", async () => {
    const world = await open();
    await world.leap(HALF);
    expect(await states(world)).toEqual(["unroutable"]);
    expect((await world.slots(JOB))[0]?.end).toMatchObject({ status: "ok", delivery: { status: "unroutable" } });
    expect((await world.job(JOB)).state).toMatchObject({ lastStatus: "ok", lastDeliveryStatus: "unroutable" });
    await world.restart();
    await world.leap(HALF);
    // The words are the same, and they are still owed.
    expect(await states(world)).toEqual(["unroutable", "suppressed"]);
    world.engine.script = () => "hello";
    await world.engine.tell("hi", { name: "mallory" });
    await world.advance(1_000);
    expect(alerts(world)).toEqual([]);
    await world.engine.tell("hi", { name: "ann" });
    await world.advance(1_000);
    expect(alerts(world).map(({ target }) => target.to)).toEqual(["ann"]);
    expect((await world.slots(JOB))[0]?.end?.delivery.status).toBe("sent");
    await world.restart();
    await world.advance(HALF);
    expect(alerts(world)).toHaveLength(1);
  });

  it("is delivered exactly once if the process dies at any commit of the way", async () => {
    for (const site of ["rest", "waiting.pending", "outbox.sending", "outbox.sent"] as const) {
      for (const moment of ["before", "after"] as const) {
        const world = await open();
        if (site === "rest") {
          world.engine.onCommit = dieAt(site, moment);
          await world.leap(HALF);
          await world.restart();
          await world.engine.settle();
        } else await world.leap(HALF);
        expect(await states(world)).toEqual(["unroutable"]);
        if (site !== "rest") world.engine.onCommit = dieAt(site, moment);
        world.engine.script = () => "hello";
        const said = world.engine.say("hi", { name: "ann" });
        await world.engine.settle();
        await said;
        await world.advance(1_000);
        await world.restart();
        await world.advance(MINUTE);
        expect([site, moment, world.engine.shown().filter((text) => text === ALERT).length]).toEqual([site, moment, 1]);
      }
    }
  });

  it("replaces an older one that has no route", async () => {
    const world = await open();
    await world.leap(HALF);
    world.engine.script = () => "The disk is on fire.";
    await world.leap(HALF);
    const rows = await world.engine.deliveries();
    expect(rows.map(({ state, reason }) => [state, reason])).toEqual([
      ["suppressed", "a newer heartbeat replaces it"],
      ["unroutable", "no route to owner"],
    ]);
    await world.engine.tell("hi", { name: "ann" });
    await world.advance(1_000);
    expect(alerts(world)).toEqual([]);
    expect(alerts(world, "The disk is on fire.")).toHaveLength(2);
  });

  it("is said again if its delivery failed, and not within a day otherwise", async () => {
    const world = await open();
    await world.engine.tell("hi", { name: "ann" });
    world.engine.channel().sending = ({ payload }) =>
      payload.text === ALERT ? { status: "refused", reason: "blocked" } : { status: "sent" };
    await world.leap(HALF);
    world.engine.channel().sending = () => ({ status: "sent" });
    await world.leap(HALF);
    await world.leap(HALF);
    const rows = (await world.engine.deliveries()).slice(1);
    expect(rows.map(({ state }) => state)).toEqual(["failed", "sent", "suppressed"]);
    const agent = await world.store.agentByKey("agent:main:heartbeat" as SessionKey);
    const { state } = agent ?? {};
    expect(state?.lastHeartbeatText).toBeUndefined();
    const last = state && (await lastHeartbeatOf(world.store, state));
    expect(last).toMatchObject({ lastHeartbeatText: ALERT, failed: false });
    expect(last?.lastHeartbeatSentAt).toBe(rows[1]?.createdAt);
  });

  it("for an explicit target without a connector waits for the connector", async () => {
    const world = await open('{ heartbeat: { target: "later:42" } }');
    await world.leap(HALF);
    expect(await states(world)).toEqual(["unroutable"]);
    const later = channel("later");
    (world.engine.channels as Map<string, Channel>).set("later", later);
    await world.restart();
    await world.advance(1_000);
    expect(later.calls.map(({ target }) => target.to)).toEqual(["42"]);
  });

  it("makes no delivery with the target none", async () => {
    const world = await open('{ heartbeat: { target: "none" } }');
    await world.leap(HALF);
    expect(await states(world)).toEqual([]);
    expect((await world.slots(JOB))[0]?.end?.delivery.status).toBe("none");
  });

  it("ends as failed without a route, and that is no failure of the job", async () => {
    const world = await open(undefined, { settings: { outbox: { maxUnroutableAgeHours: 0.5 } } });
    await world.leap(HALF);
    await world.advance(DAY / 2);
    expect((await world.engine.deliveries())[0]).toMatchObject({ state: "failed", reason: "no route" });
    const [slot] = await world.slots(JOB);
    expect(slot?.end?.delivery).toEqual({ status: "failed", reason: "no route" });
    expect((await world.job(JOB)).state.consecutiveErrors ?? 0).toBe(0);
  });

  it("reaches the owner who only reads the owner's mailbox, exactly once, and an API user called owner gets nothing", async () => {
    const world = await open();
    await world.leap(HALF);
    const { mailboxes } = world.engine.system.deliveries;
    expect((await mailboxes.page([{ channel: "api", to: "owner" }])).items).toEqual([]);
    const opened = mailboxes.page(OWNER_MAILBOXES);
    await world.engine.settle();
    const { items } = await opened;
    expect(items.map(({ payload, target }) => [payload.text, target])).toEqual([[ALERT, OWNER_MAILBOX]]);
    await world.restart();
    const ids = items.map(({ id }) => id);
    expect(await world.engine.system.deliveries.mailboxes.acknowledge(OWNER_MAILBOXES, ids)).toEqual(ids);
    expect((await world.slots(JOB))[0]?.end?.delivery.status).toBe("sent");
    world.engine.script = () => "Another alert.";
    await world.leap(HALF);
    expect(await states(world)).toEqual(["sent", "waiting-reader"]);
  });
});

describe("a stranger's message between alerts", () => {
  it("redirects nothing, also in a main conversation that everyone shares", async () => {
    const world = await open();
    const main = "agent:main:main" as SessionKey;
    const inMain = (name: string) => ({
      name,
      to: {
        descriptor: { type: "user", connector: "test", userId: "ann", channelId: "ann" },
        sessionKey: main,
      } as const,
      body: { kind: "user", text: "hi", sender: { id: name } } as const,
    });
    world.engine.script = () => "answer";
    await world.engine.tell("", inMain("ann"));
    await world.advance(1_000);
    await world.engine.tell("", inMain("mallory"));
    await world.engine.tell("me too", { name: "mallory" });
    // The stranger is answered where the stranger wrote.
    expect(world.engine.channel().calls.filter(({ target }) => target.to === "mallory")).toHaveLength(2);
    world.engine.script = () => ALERT;
    await world.leap(HALF);
    expect(alerts(world).map(({ target }) => target.to)).toEqual(["ann"]);
  });
});

describe("a cron job", () => {
  const every = { kind: "every", everyMs: MINUTE } as const;
  const turn = { kind: "agentTurn", message: "work", deliver: true } as const;

  it("with deliver and no route lists its words, and counts no failure", async () => {
    const world = await open('{ heartbeat: { every: "0" } }');
    world.engine.script = () => "the report";
    const { id } = await world.cron.add({ name: "job", schedule: every, payload: turn });
    await world.leap(MINUTE);
    const [run] = await world.cron.runs(id);
    expect(run?.end).toMatchObject({ status: "ok", delivery: { status: "unroutable" } });
    expect(run?.deliveries).toMatchObject([{ state: "unroutable" }]);
    expect((await world.job(id)).state).toMatchObject({ lastStatus: "ok", consecutiveErrors: 0 });
    await world.cron.remove(id);
    await world.engine.tell("hi", { name: "ann" });
    await world.advance(1_000);
    expect(alerts(world, "the report").map(({ target }) => target.to)).toEqual(["ann", "ann"]);
  });

  it("that was not asked to deliver makes no delivery", async () => {
    const world = await open('{ heartbeat: { every: "0" } }');
    await world.cron.add({ name: "job", schedule: every, payload: { ...turn, deliver: false } });
    await world.leap(MINUTE);
    expect(await states(world)).toEqual([]);
  });

  it("that fails owes the alert to the owner, also before the owner has a route", async () => {
    const world = await open('{ heartbeat: { every: "0" } }');
    world.engine.script = ({ request }) => (lastText(request).includes("work") ? failure("request") : "hello");
    const { id } = await world.cron.add({ name: "job", schedule: every, payload: turn });
    for (let n = 0; n < 3; n++) await world.leap(2 * MINUTE);
    await world.cron.remove(id);
    const owed = (await world.engine.deliveries()).filter(({ payload }) => payload.text?.startsWith("⚠️"));
    expect(owed).toMatchObject([{ state: "unroutable", target: { channel: "person", to: "owner" } }]);
    await world.engine.tell("hi", { name: "ann" });
    await world.advance(1_000);
    const shown = world.engine.channel().calls.filter(({ payload }) => payload.text?.startsWith("⚠️"));
    expect(shown.map(({ target }) => target.to)).toEqual(["ann"]);
  });

  it("of an API user's conversation speaks into that user's mailbox", async () => {
    const world = await open('{ heartbeat: { every: "0" } }');
    world.engine.script = () => "the report";
    // A request that waits for its own answer has no delivery.
    await world.engine.tell("hi", { name: "bob", on: "api", delivery: undefined });
    expect(await states(world)).toEqual([]);
    const sessionKey = "agent:main:api:dm:bob";
    await world.cron.add({ name: "job", schedule: every, payload: turn }, { sessionKey });
    await world.leap(MINUTE);
    const { items } = await world.engine.system.deliveries.mailboxes.page([{ channel: "api", to: "bob" }]);
    expect(items.map(({ payload }) => payload.text)).toEqual(["the report"]);
    const [read] = items.map(({ id }) => id) as [DeliveryId];
    await world.engine.system.deliveries.mailboxes.acknowledge([{ channel: "api", to: "bob" }], [read]);
    expect(await states(world)).toEqual(["sent"]);
  });
});
