import { describe, expect, test } from "vitest";
import { START } from "../../../test/kit/clock.ts";
import { testSettings } from "../../../test/kit/settings.ts";
import type { AgentId } from "../../core/ids.ts";
import { coveredTimes, TriggerTestEngine } from "./triggers.test-kit.ts";
import { Triggers } from "./triggers.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const turn = (message = "work") => ({ kind: "agentTurn", message }) as const;
const every = (everyMs: number) => ({ kind: "every", everyMs }) as const;

test("a due time becomes a run of the job's own agent, and the slot records how it ended", async () => {
  const world = await TriggerTestEngine.open();
  const { id } = await world.cron.add({ name: "hourly", schedule: every(HOUR), payload: turn() });
  await world.advance(HOUR);
  const [slot] = await world.slots(id);
  expect(slot).toMatchObject({
    status: "fired",
    dueAt: START + HOUR,
    // Nobody has written here yet: the answer waits for its person.
    end: { status: "ok", delivery: { status: "unroutable" } },
  });
  expect(world.engine.requests).toHaveLength(1);
  expect(await world.job(id)).toMatchObject({
    enabled: true,
    state: { lastStatus: "ok", nextRunAtMs: START + 2 * HOUR },
  });
  const agent = await world.store.agentByKey(`cron:${id}` as never);
  expect(agent?.descriptor).toMatchObject({ type: "cron", id, name: "hourly" });
});

test("each run of an isolated job begins a new session", async () => {
  const world = await TriggerTestEngine.open();
  await world.cron.add({ name: "hourly", schedule: every(HOUR), payload: turn() });
  await world.advance(3 * HOUR);
  const sessions = world.engine.requests.map(({ sessionId }) => sessionId);
  expect(new Set(sessions).size).toBe(3);
  for (const { messages } of world.engine.requests) expect(messages).toHaveLength(1);
});

test.each([
  ["a minute", MINUTE],
  ["a day", DAY],
  ["thirty days", 30 * DAY],
])(
  "under each policy every due time has an outcome after %s of downtime",
  async (_, gap) => {
    for (const missed of ["skip", "once", "all"] as const) {
      const world = await TriggerTestEngine.open();
      const everyMs = gap > DAY ? DAY : gap === DAY ? MINUTE : 20_000;
      const create = { name: missed, schedule: every(everyMs), payload: turn(missed), missed };
      const { id } = await world.cron.add({ ...create, maxLatenessMs: gap > DAY ? undefined : 2 * HOUR });
      await world.leap(everyMs);
      await world.down(gap);
      await world.leap(everyMs);
      await world.leap(everyMs);
      const slots = await world.slots(id);
      const times = coveredTimes(slots, everyMs);
      const first = START + everyMs;
      expect(times, missed).toEqual(times.map((__, n) => first + n * everyMs));
      expect(times.at(-1)).toBe(first + gap + 2 * everyMs - (gap % everyMs));
      const fired = slots.filter(({ status }) => status === "fired").length;
      expect(slots.filter(({ status }) => status === "fired").every(({ end }) => end?.status === "ok")).toBe(true);
      expect(world.engine.requests).toHaveLength(fired);
      if (missed === "all") expect(fired).toBeGreaterThan(Math.min(gap, 2 * HOUR) / everyMs);
    }
  },
  60_000,
);

test("an edit closes the old revision's passed due times in the same commit", async () => {
  const world = await TriggerTestEngine.open();
  const { id } = await world.cron.add({ name: "x", schedule: every(HOUR), payload: turn() });
  await world.triggers.stop();
  world.clock.jump(3 * HOUR + 5 * MINUTE);
  await world.cron.update(id, { schedule: every(10 * MINUTE) });
  expect(await world.slots(id)).toEqual([
    expect.objectContaining({ revision: 1, dueAt: START + HOUR, count: 3, status: "skipped", reason: "edited" }),
  ]);
  await world.restart();
  await world.advance(10 * MINUTE);
  expect((await world.slots(id)).at(-1)).toMatchObject({ revision: 2, status: "fired" });
});

describe("a process that does not keep running", () => {
  const HOURLY = { name: "hourly", schedule: every(HOUR), payload: turn() };
  const once = async (options: Parameters<typeof TriggerTestEngine.open>[0] = {}) => {
    const world = await TriggerTestEngine.open(options);
    await world.triggers.stop();
    const fire = async () => {
      const firing = new Triggers(
        { ...world.engine.ports({ alive: true, name: "once" }), gates: options.gates },
        { settings: testSettings() },
      ).fireOnce(world.engine.system);
      await world.engine.settle();
      await firing;
      await world.engine.settle();
    };
    return { world, fire };
  };

  test("fires what is due, once, and nothing later", async () => {
    const { world, fire } = await once();
    const { id } = await world.cron.add(HOURLY);
    await fire();
    expect(await world.slots(id)).toEqual([]);
    world.clock.jump(3 * HOUR);
    await fire();
    await fire();
    expect((await world.slots(id)).map(({ reason, status, count }) => [reason ?? status, count])).toEqual([
      ["missed", 2],
      ["fired", 1],
    ]);
    await world.advance(2 * HOUR);
    expect(world.engine.requests).toHaveLength(1);
  });

  test("checks gates, also for every missed due time, and leaves the heartbeat alone", async () => {
    let checks = 0;
    const check = async () => ({ pass: ++checks !== 2, reason: "closed", output: "" }) as const;
    const { world, fire } = await once({ gates: { check } as never, settings: { heartbeat: { every: "30m" } } });
    const { id } = await world.cron.add({ ...HOURLY, missed: "all", gate: { kind: "http", url: "http://127.0.0.1/" } });
    world.clock.jump(3 * HOUR);
    await fire();
    expect((await world.slots(id)).map(({ reason, status }) => reason ?? status)).toEqual([
      "fired",
      "gate: closed",
      "fired",
    ]);
    expect(await world.slots("heartbeat:main")).toEqual([]);
  });
});

test("two brokers on one store fire a slot once", async () => {
  const world = await TriggerTestEngine.open();
  const { clock, ids, log } = world.engine.ports({ alive: true, name: "second" });
  const second = new Triggers({ clock, ids, log, store: world.store }, { settings: testSettings() });
  second.start(world.engine.system);
  const { id } = await world.cron.add({ name: "x", schedule: every(MINUTE), payload: turn() });
  second.wake();
  await world.advance(10 * MINUTE);
  const slots = await world.slots(id);
  expect(slots).toHaveLength(10);
  expect(world.engine.requests).toHaveLength(10);
});

test("a one-time job ends after any outcome, and is deleted if it says so", async () => {
  const world = await TriggerTestEngine.open();
  const at = (deleteAfterRun: boolean) => ({
    name: "once",
    schedule: { kind: "at", atMs: world.clock.now() + MINUTE },
    payload: turn(),
    deleteAfterRun,
  });
  const kept = await world.cron.add(at(false));
  const deleted = await world.cron.add(at(true));
  await world.advance(2 * MINUTE);
  expect(await world.job(kept.id)).toMatchObject({ enabled: false, state: { lastStatus: "ok" } });
  expect(await world.store.job(deleted.id)).toBeUndefined();
  world.engine.script = () => ({ stopReason: "error", error: { class: "request", message: "no" } });
  const failing = await world.cron.add(at(true));
  await world.advance(2 * HOUR);
  expect(await world.job(failing.id)).toMatchObject({ enabled: false, state: { lastStatus: "error" } });
  expect(await world.slots(failing.id)).toHaveLength(1);
});

test("a reminder wakes the main conversation and its answer goes to the person", async () => {
  const world = await TriggerTestEngine.open();
  await world.engine.tell("hello");
  const agentId = (await world.engine.agentId()) as AgentId;
  const main = await world.store.agent(agentId);
  await world.cron.add(
    {
      name: "tea",
      schedule: { kind: "at", atMs: world.clock.now() + 10_000 },
      wakeMode: "now",
      payload: { kind: "systemEvent", text: "Tea is ready." },
    },
    { sessionKey: main?.sessionKey },
  );
  await world.advance(11_000);
  expect(world.engine.shown().at(-1)).toContain("Tea is ready.");
});

test("failures back off, alert the person after two and turn the job off after ten", async () => {
  const world = await TriggerTestEngine.open();
  await world.engine.tell("hello");
  const main = await world.store.agent(await world.engine.agentId());
  world.engine.script = () => ({ stopReason: "error", error: { class: "request", message: "no credit" } });
  const { id } = await world.cron.add(
    { name: "bad", schedule: every(MINUTE), payload: turn() },
    { sessionKey: main?.sessionKey },
  );
  await world.advance(DAY);
  const slots = await world.slots(id);
  expect(slots.filter(({ status }) => status === "fired")).toHaveLength(10);
  expect(slots.filter(({ reason }) => reason === "backoff").length).toBeGreaterThan(3);
  expect(await world.job(id)).toMatchObject({ enabled: false, state: { disabledReason: "10 failures in a row" } });
  const alerts = world.engine.shown().filter((text) => text.startsWith("⚠️"));
  expect(alerts).toEqual([
    '⚠️ The cron job "bad" failed 2 times in a row: Inference failed. no credit',
    '⚠️ The cron job "bad" failed 10 times in a row and was turned off: Inference failed. no credit',
  ]);
});

test("a main conversation with a configured name is the owner's, also before anyone has written to it", async () => {
  const world = await TriggerTestEngine.open({ settings: { session: { mainKey: "home" } } });
  const payload = { kind: "systemEvent", text: "look" } as const;
  await world.cron.add({ name: "event", schedule: every(HOUR), payload, wakeMode: "now" });
  await world.leap(HOUR);
  const home = await world.store.agentByKey("agent:main:home" as never);
  const [message] = await world.store.messages(home?.id as AgentId, { limit: 1 });
  expect(message?.delivery).toEqual({ channel: "person", to: "owner" });
});
