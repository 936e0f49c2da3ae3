import { describe, expect, test } from "vitest";
import { START } from "../../../test/kit/clock.ts";
import type { Op } from "../../core/store/change.ts";
import { TriggerTestEngine } from "./triggers.test-kit.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const payload = { kind: "agentTurn", message: "work" } as const;
/** START is 09:00 UTC. */
const tenUtc = START + HOUR;
const every = (everyMs: number, anchorMs?: number) => ({ kind: "every", everyMs, anchorMs }) as const;

const outcomes = async (world: TriggerTestEngine, id: string) =>
  (await world.slots(id)).map(({ dueAt, status, reason }) => [dueAt, reason ?? status]);

describe("a change of the time zone", () => {
  const open = async (schedule: object = { kind: "cron", expr: "0 10 * * *" }) => {
    const world = await TriggerTestEngine.open();
    const { id } = await world.cron.add({ name: "daily", schedule, payload });
    expect((await world.job(id)).state.nextRunAtMs).toBe(tenUtc);
    return { world, id };
  };
  /** 10:00 in New York is 15:00 UTC. */
  const tenInNewYork = START + 6 * HOUR;

  test.each(["restart", "reload"] as const)("re-plans the stored due times at a %s", async (how) => {
    const { world, id } = await open();
    world.zone = "America/New_York";
    await world[how]();
    expect((await world.job(id)).state.nextRunAtMs).toBe(tenInNewYork);
    expect((await world.cron.get(id)).nextTimes[0]).toMatchObject({ atMs: tenInNewYork });
    await world.advance(6 * HOUR);
    expect(await outcomes(world, id)).toEqual([[tenInNewYork, "fired"]]);
    await world.advance(DAY);
    expect(await outcomes(world, id)).toHaveLength(2);
  });

  test("skips the due times that passed in the old zone, in the same commit", async () => {
    const { world, id } = await open();
    world.crash();
    world.clock.jump(2 * HOUR + DAY);
    world.zone = "Asia/Tokyo";
    await world.restart();
    expect(await world.slots(id)).toEqual([
      expect.objectContaining({ revision: 1, dueAt: tenUtc, count: 2, status: "skipped", reason: "time zone changed" }),
    ]);
    expect(await world.job(id)).toMatchObject({ revision: 2, zone: "Asia/Tokyo" });
  });

  test("leaves jobs with their own zone, intervals and one-time jobs alone", async () => {
    const own = await open({ kind: "cron", expr: "0 10 * * *", tz: "UTC" });
    const interval = await open({ kind: "every", everyMs: HOUR });
    const once = await open({ kind: "at", atMs: tenUtc });
    for (const { world, id } of [own, interval, once]) {
      world.zone = "America/New_York";
      await world.restart();
      await world.reload();
      expect(await world.job(id)).toMatchObject({ revision: 1, state: { nextRunAtMs: tenUtc } });
    }
  });

  test("changes nothing if the zone stays, and does not turn a job on", async () => {
    const { world, id } = await open();
    const { id: off } = await world.cron.add({ name: "off", schedule: { kind: "cron", expr: "0 10 * * *" }, payload });
    await world.cron.update(off, { enabled: false });
    const before = [await world.job(id), await world.job(off)];
    await world.restart();
    await world.reload();
    expect([await world.job(id), await world.job(off)]).toEqual(before);
    world.zone = "Asia/Tokyo";
    await world.restart();
    expect((await world.job(off)).state.nextRunAtMs).toBeUndefined();
    await world.cron.update(off, { enabled: true });
    expect(await world.job(off)).toMatchObject({ zone: "Asia/Tokyo", state: { nextRunAtMs: START + 16 * HOUR } });
  });

  test("an edit of the schedule before the re-plan closes the old due times in the old zone", async () => {
    const { world, id } = await open();
    await world.triggers.stop();
    world.clock.jump(HOUR + MINUTE);
    world.zone = "America/New_York";
    await world.cron.update(id, { schedule: { kind: "cron", expr: "30 10 * * *" } });
    expect(await outcomes(world, id)).toEqual([[tenUtc, "edited"]]);
    expect((await world.job(id)).state.nextRunAtMs).toBe(tenInNewYork + 30 * MINUTE);
  });

  test("every due time has one outcome after a kill at any commit, for many jobs", async () => {
    for (const when of ["before", "after"] as const) {
      for (let n = 1; ; n++) {
        const { world, id } = await open();
        for (let more = 0; more < 3; more++)
          await world.cron.add({ name: "more", schedule: { kind: "cron", expr: "0 10 * * *" }, payload });
        world.crash();
        world.clock.jump(2 * HOUR);
        world.zone = "America/New_York";
        let commits = 0;
        const boot = world.restart();
        world.engine.onCommit = ({ site }) => (site === "cron.replan" && ++commits === n ? `die-${when}` : "go");
        await boot;
        const killed = commits >= n;
        await world.restart();
        expect(await world.job(id)).toMatchObject({ revision: 2, state: { nextRunAtMs: tenInNewYork } });
        expect(await outcomes(world, id)).toEqual([[tenUtc, "time zone changed"]]);
        if (!killed) break;
      }
    }
  });

  test("a job of an older program is re-planned only if its time is no due time of the zone", async () => {
    const { world, id } = await open();
    const { zone: _, ...old } = await world.job(id);
    await world.store.commit({ id: "old" as never, site: "t", at: START, ops: [{ op: "job.put", job: old }] });
    await world.restart();
    expect((await world.job(id)).revision).toBe(1);
    world.zone = "America/New_York";
    await world.restart();
    expect(await world.job(id)).toMatchObject({ revision: 2, state: { nextRunAtMs: tenInNewYork } });
  });
});

describe("a clock that is set back", () => {
  const open = async (schedule: object = every(10 * MINUTE)) => {
    const world = await TriggerTestEngine.open();
    const { id } = await world.cron.add({ name: "often", schedule, payload });
    return { world, id };
  };
  const fired = (world: TriggerTestEngine) => world.engine.requests.length;

  test("an interval continues from now while the program runs", async () => {
    const { world, id } = await open();
    await world.advance(25 * MINUTE);
    expect(fired(world)).toBe(2);
    world.clock.jump(-6 * HOUR);
    await world.advance(MINUTE);
    const { nextRunAtMs = 0 } = (await world.job(id)).state;
    expect(nextRunAtMs - world.clock.now()).toBeLessThanOrEqual(10 * MINUTE);
    await world.advance(60 * MINUTE);
    expect(fired(world)).toBe(8);
    const slots = await world.slots(id);
    expect(slots.every(({ status, end }) => status === "fired" && end?.status === "ok")).toBe(true);
    expect(new Set(slots.map(({ slot }) => slot)).size).toBe(8);
  });

  test("an interval continues from now if it was set back while the program was down", async () => {
    const { world } = await open();
    await world.advance(25 * MINUTE);
    await world.down(-6 * HOUR);
    await world.advance(10 * MINUTE);
    expect(fired(world)).toBe(3);
    await world.advance(10 * MINUTE);
    expect(fired(world)).toBe(4);
  });

  test("a correction of less than a minute keeps the rhythm", async () => {
    const { world, id } = await open();
    await world.advance(25 * MINUTE);
    world.clock.jump(-45_000);
    await world.advance(MINUTE);
    expect(await world.job(id)).toMatchObject({ revision: 1, state: { nextRunAtMs: START + 30 * MINUTE } });
  });

  test("a time in the future that a person chose stays", async () => {
    const start = START + 3 * HOUR;
    const { world, id } = await open(every(10 * MINUTE, start));
    world.clock.jump(-6 * HOUR);
    await world.advance(MINUTE);
    await world.restart();
    expect(await world.job(id)).toMatchObject({ revision: 1, state: { nextRunAtMs: start } });
  });

  test("a cron expression does not run again at a time that had its run", async () => {
    const { world, id } = await open({ kind: "cron", expr: "0 10 * * *" });
    await world.advance(HOUR);
    world.clock.jump(-2 * HOUR);
    await world.advance(4 * HOUR);
    expect(await outcomes(world, id)).toEqual([[tenUtc, "fired"]]);
  });

  test("the heartbeat's rhythm continues too", async () => {
    const world = await TriggerTestEngine.open({ settings: { heartbeat: { every: "30m" } } });
    await world.advance(31 * MINUTE);
    world.clock.jump(-DAY);
    await world.advance(31 * MINUTE);
    expect(await world.slots("heartbeat:main")).toHaveLength(2);
  });

  test("a node whose clock alone is behind the others changes nothing", async () => {
    const world = await TriggerTestEngine.open({ triggers: { leaseMs: 5_000 }, system: { leaseMs: 5_000 } });
    const { id } = await world.cron.add({ name: "often", schedule: every(10 * MINUTE), payload });
    let changes = 0;
    const commit = (op: Op) =>
      world.store.commit({ id: `other${++changes}` as never, site: "other", at: START, ops: [op] });
    await commit({ op: "node.join", name: "other", leaseUntil: START + HOUR });
    const [{ node = 0 } = {}] = (await world.store.nodes()).filter(({ name }) => name === "other");
    world.clock.jump(-HOUR);
    for (let n = 0; n < 30; n++) {
      await commit({ op: "node.renew", node, leaseUntil: START + HOUR + n });
      await world.advance(4_000);
    }
    expect((await world.job(id)).revision).toBe(1);
    // The other node is silent from here on.
    await world.advance(2 * MINUTE);
    expect((await world.job(id)).revision).toBe(2);
  });
});
