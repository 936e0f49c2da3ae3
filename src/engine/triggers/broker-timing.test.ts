/** When the broker reads the jobs: at a due time, at a hint, at its poll, after an error, and not after its stop. */
import { describe, expect, test } from "vitest";
import { START } from "../../../test/kit/clock.ts";
import { InvalidInputError, StoreUnavailableError } from "../../core/errors.ts";
import type { GateVerdict } from "../../core/ports/gate-runner.ts";
import { BrokerWorld } from "./broker.test-kit.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const gate = { kind: "command", command: "true" } as const;
const due = (ms: number) => ({ state: { nextRunAtMs: START + ms } });

/** Gates that answer when the test says so. */
function heldGates() {
  const held = Promise.withResolvers<GateVerdict>();
  const signals: AbortSignal[] = [];
  const check = (_gate: unknown, signal: AbortSignal): Promise<GateVerdict> => {
    signals.push(signal);
    return held.promise;
  };
  return { gates: { check } as never, open: () => held.resolve({ pass: true, output: "" }), signals };
}

describe("the broker wakes", () => {
  test("at the next due time, not before it and not only with its poll", async () => {
    const world = new BrokerWorld({ pollMs: HOUR });
    world.put({ id: "later", ...due(9_000) });
    world.put({ id: "soon", ...due(5_000) });
    await world.start();
    const reads = world.reads.length;
    await world.advance(4_999);
    expect([world.reads.length, world.outcomes()]).toEqual([reads, []]);
    await world.advance(1);
    expect(world.outcomes()).toEqual(["soon fired"]);
    await world.advance(4_000);
    expect(world.outcomes()).toEqual(["soon fired", "later fired"]);
  });

  test.each([
    [undefined, 30_000],
    [7_000, 7_000],
  ])("with a poll of %s ms, after %i ms for a job of another node", async (pollMs, wait) => {
    const world = new BrokerWorld({ pollMs });
    await world.start();
    world.put({ id: "other", ...due(1) });
    await world.advance(wait - 1);
    expect(world.outcomes()).toEqual([]);
    await world.advance(1);
    expect(world.outcomes()).toEqual(["other fired"]);
    expect(world.clock.timers).toBe(1);
  });

  test("at a hint, and then has one timer, not two", async () => {
    const world = new BrokerWorld({ pollMs: HOUR });
    await world.start();
    world.put({ id: "new", ...due(0) });
    world.broker.wake();
    await world.settle();
    expect(world.outcomes()).toEqual(["new fired"]);
    expect(world.clock.timers).toBe(1);
  });

  test("once more for hints that come while it reads the jobs, however many", async () => {
    const world = new BrokerWorld({ pollMs: HOUR });
    let first = true;
    world.before = (what) => {
      if (what !== "nextJobs" || !first) return;
      first = false;
      for (let n = 0; n < 5; n++) world.broker.wake();
    };
    await world.start();
    // Two reads for due jobs, one for the next one.
    expect(world.reads.map(({ before }) => before)).toEqual([START, START, undefined]);
  });

  test("again if a hint comes after it has looked for the next job", async () => {
    const world = new BrokerWorld({ pollMs: HOUR });
    let reads = 0;
    world.before = (what) => {
      if (what !== "nextJobs" || ++reads !== 2) return;
      world.broker.wake();
    };
    await world.start();
    // Due jobs and the next one, twice.
    expect(world.reads.map(({ before }) => before)).toEqual([START, undefined, START, undefined]);
  });

  test("at once for a job that is due before it has looked for the next one", async () => {
    const world = new BrokerWorld({ pollMs: HOUR });
    let reads = 0;
    world.before = (what) => {
      if (what === "nextJobs" && ++reads === 2) world.put({ id: "new", ...due(-5) });
    };
    await world.start();
    await world.advance(0);
    expect(world.outcomes()).toEqual(["new fired"]);
  });

  test("not before its start, and not after its stop", async () => {
    const world = new BrokerWorld({ pollMs: 1_000 });
    world.put({ id: "a", ...due(0) });
    world.broker.wake();
    world.broker.replan();
    await world.settle();
    expect(world.reads).toEqual([]);
    await world.start();
    await world.broker.stop();
    const reads = world.reads.length;
    expect(world.clock.timers).toBe(0);
    world.put({ id: "b", ...due(0) });
    world.broker.wake();
    await world.advance(MINUTE);
    expect([world.reads.length, world.outcomes()]).toEqual([reads, ["a fired"]]);
  });

  test("for the next free job while others are checked", async () => {
    const { gates, open } = heldGates();
    const world = new BrokerWorld({ pollMs: HOUR }, { gates });
    for (const id of ["slow 1", "slow 2"]) world.put({ id, gate, ...due(0) });
    world.put({ id: "quick", ...due(5_000) });
    await world.start();
    await world.advance(5_000);
    expect(world.outcomes()).toEqual(["quick fired"]);
    expect(world.reads).toContainEqual({ limit: 3 });
    open();
    await world.settle();
    expect(world.outcomes()).toEqual(["quick fired", "slow 1 fired", "slow 2 fired"]);
  });

  test("for other jobs while a batch of them is checked, and while the heartbeat decides", async () => {
    const { gates, open } = heldGates();
    const ticked = Promise.withResolvers<never>();
    const world = new BrokerWorld({ pollMs: HOUR }, { gates, tick: () => ticked.promise });
    for (let n = 0; n < 64; n++) world.put({ id: `slow ${n}`, gate, ...due(-2) });
    world.put({ id: "heartbeat", system: "heartbeat", ...due(-1) });
    world.put({ id: "quick", ...due(0) });
    await world.start();
    expect(world.outcomes()).toEqual(["quick fired"]);
    open();
    ticked.resolve({ kind: "skip", reason: "quiet" } as never);
    await world.settle();
    expect(world.outcomes()).toHaveLength(66);
  });

  test("and does nothing with a job that is not due any more, because the clock was set back", async () => {
    const world = new BrokerWorld({ pollMs: HOUR });
    world.put({ id: "a", schedule: { kind: "cron", expr: "0 9 * * *", tz: "UTC" }, ...due(0) });
    let reads = 0;
    world.before = (what) => {
      if (what === "nextJobs" && ++reads === 1) world.clock.jump(-1_000);
    };
    await world.start();
    expect([world.outcomes(), world.lines]).toEqual([[], []]);
    await world.advance(1_000);
    expect(world.outcomes()).toEqual(["a fired"]);
  });

  test("for a job that is due again when its check ends", async () => {
    const verdicts = [Promise.withResolvers<GateVerdict>(), Promise.withResolvers<GateVerdict>()];
    let checks = 0;
    const check = () => (verdicts[checks++] as (typeof verdicts)[0]).promise;
    const world = new BrokerWorld(
      { pollMs: HOUR, settings: { cron: { missed: "all" } } },
      { gates: { check } as never },
    );
    world.put({ id: "slow", gate, schedule: { kind: "every", everyMs: 1_000, anchorMs: START }, ...due(0) });
    await world.start();
    await world.advance(1_500);
    // One check at a time for one job.
    expect(checks).toBe(1);
    verdicts[0]?.resolve({ pass: true, output: "" });
    await world.settle();
    expect([checks, world.outcomes()]).toEqual([2, ["slow fired"]]);
  });
});

describe("an error of the store", () => {
  test.each([
    ["after a second", 30_000, 1_000],
    ["with the poll if that comes sooner", 400, 400],
  ])("is tried again %s", async (_what, pollMs, wait) => {
    const world = new BrokerWorld({ pollMs });
    world.put({ id: "a" });
    let fails = true;
    world.before = (what) => {
      if (what === "nextJobs" && fails) throw new StoreUnavailableError("away");
    };
    await world.start();
    fails = false;
    expect(world.lines).toMatchObject([{ level: "warn", fields: { error: expect.stringContaining("away") } }]);
    await world.advance(wait - 1);
    expect(world.outcomes()).toEqual([]);
    await world.advance(1);
    expect(world.outcomes()).toEqual(["a fired"]);
  });

  test.each([
    ["one that may pass", new StoreUnavailableError("away")],
    ["one of the program", new TypeError("oops")],
  ])("while a job is fired, %s, leaves the job as it is", async (_what, error) => {
    const world = new BrokerWorld();
    const job = world.put({ id: "a" });
    let fails = true;
    world.before = (what) => {
      if (what === "post" && fails) throw error;
    };
    await world.start();
    expect([world.jobs.get("a"), world.slots]).toEqual([job, []]);
    fails = false;
    await world.advance(1_000);
    expect(world.outcomes()).toEqual(["a fired"]);
  });

  test("while a checked job is fired is tried again after a second, with its check", async () => {
    let checks = 0;
    const gates = { check: async () => ({ pass: ++checks > 0, output: "" }) } as never;
    const world = new BrokerWorld({ pollMs: HOUR }, { gates });
    world.put({ id: "a", gate });
    let fails = true;
    world.before = (what) => {
      if (what === "post" && fails) throw new StoreUnavailableError("away");
    };
    await world.start();
    fails = false;
    await world.advance(999);
    expect([checks, world.lines.map(({ fields }) => fields?.job)]).toEqual([1, ["a"]]);
    await world.advance(1);
    expect([checks, world.outcomes()]).toEqual([2, ["a fired"]]);
  });

  test("is no reason to turn a job off, another error of the job is", async () => {
    const world = new BrokerWorld();
    world.put({ id: "bad", state: { nextRunAtMs: START - 5, consecutiveErrors: 3 } });
    world.put({ id: "good" });
    world.before = (what) => {
      if (what === "post" && world.jobs.get("bad")?.enabled) throw new InvalidInputError("No such thing.");
    };
    await world.start();
    expect(world.outcomes()).toEqual(["bad No such thing.", "good fired"]);
    expect(world.slots[0]).toMatchObject({ dueAt: START - 5, count: 1, status: "skipped", at: START });
    const { enabled, state } = world.jobs.get("bad") ?? {};
    expect(enabled).toBe(false);
    expect(state).toEqual({ consecutiveErrors: 3, lastError: "No such thing.", disabledReason: "No such thing." });
    expect(world.lines).toMatchObject([{ level: "error", fields: { job: "bad", reason: "No such thing." } }]);
  });
});

describe("a stop", () => {
  test("waits for a check, tells it to end, and fires nothing after it", async () => {
    const { gates, open, signals } = heldGates();
    const world = new BrokerWorld({}, { gates });
    world.put({ id: "slow", gate });
    await world.start();
    let stopped = false;
    const stopping = world.broker.stop().then(() => {
      stopped = true;
    });
    await world.settle();
    expect([stopped, signals.map(({ aborted }) => aborted)]).toEqual([false, [true]]);
    open();
    await stopping;
    expect([world.outcomes(), world.posts, world.clock.timers]).toEqual([[], [], 0]);
  });

  test("waits for the job that is being fired, leaves the next one due, and reads nothing more", async () => {
    const world = new BrokerWorld();
    for (const id of ["first", "second"]) world.put({ id });
    const posted = Promise.withResolvers<void>();
    world.before = (what) => {
      if (what === "post") posted.resolve();
    };
    world.broker.start();
    await posted.promise;
    world.broker.wake();
    await world.broker.stop();
    expect([world.outcomes(), world.reads.length]).toEqual([["first fired"], 2]);
    await world.settle();
    expect([world.outcomes(), world.reads.length, world.clock.timers]).toEqual([["first fired"], 2, 0]);
  });

  test("waits for a check that begins after it", async () => {
    const { gates, open } = heldGates();
    const world = new BrokerWorld({}, { gates });
    world.put({ id: "slow", gate });
    const looked = Promise.withResolvers<void>();
    world.before = (what) => {
      if (what === "agentByKey") looked.resolve();
    };
    world.broker.start();
    await looked.promise;
    let stopped = false;
    const stopping = world.broker.stop().then(() => {
      stopped = true;
    });
    await world.settle();
    expect(stopped).toBe(false);
    open();
    await stopping;
    expect(world.outcomes()).toEqual([]);
  });
});

describe("plans are compared with the zone", () => {
  test("at the start and after a change of the configuration, not at every poll", async () => {
    const world = new BrokerWorld({ pollMs: 1_000 });
    let looks = 0;
    world.before = (what) => {
      if (what === "jobs") looks += 1;
    };
    await world.start();
    await world.advance(5_000);
    expect(looks).toBe(1);
    world.broker.replan();
    await world.settle();
    expect(looks).toBe(2);
    world.clock.jump(-HOUR);
    await world.advance(3_000);
    expect(looks).toBe(3);
  });

  test("again if the store did not answer", async () => {
    const world = new BrokerWorld({ pollMs: HOUR });
    let looks = 0;
    world.before = (what) => {
      if (what === "jobs" && ++looks % 2 === 1) throw new StoreUnavailableError("away");
    };
    await world.start();
    await world.advance(1_000);
    expect(looks).toBe(2);
    // Also if the clock was compared before.
    world.broker.replan();
    await world.settle();
    expect(looks).toBe(3);
    await world.advance(1_000);
    expect(looks).toBe(4);
  });

  test("again if the configuration changes while they are compared", async () => {
    const world = new BrokerWorld({ pollMs: HOUR });
    world.put({ id: "daily", schedule: { kind: "cron", expr: "0 12 * * *" }, zone: "UTC", ...due(3 * HOUR) });
    let looks = 0;
    world.before = (what) => {
      if (what !== "jobs" || ++looks !== 1) return;
      world.move("Asia/Tokyo");
      world.broker.replan();
    };
    await world.start();
    expect([looks, world.jobs.get("daily")?.zone]).toEqual([2, "Asia/Tokyo"]);
  });

  test("also while another node's clock is ahead, and with this clock when that node has left", async () => {
    const world = new BrokerWorld({
      pollMs: 1_000,
      leaseMs: 20_000,
      settings: { session: { timeZone: "Asia/Tokyo" } },
    });
    const other = { node: 2, leaseUntil: START + 9 * HOUR, left: false };
    world.nodes.push(other);
    world.put({ id: "daily", schedule: { kind: "cron", expr: "0 12 * * *" }, zone: "UTC", ...due(3 * HOUR) });
    const schedule = { kind: "every", everyMs: MINUTE, anchorMs: START - HOUR } as const;
    world.put({ id: "often", schedule, ...due(5 * HOUR) });
    await world.start();
    expect(world.jobs.get("daily")?.zone).toBe("Asia/Tokyo");
    expect(world.jobs.get("often")?.revision).toBeUndefined();
    other.left = true;
    await world.advance(1_000);
    expect(world.jobs.get("often")).toMatchObject({ revision: 2, state: { nextRunAtMs: START + MINUTE + 1_000 } });
  });

  test("before anything is fired, also in a process that does not keep running", async () => {
    const world = new BrokerWorld({ settings: { session: { timeZone: "Asia/Tokyo" } } });
    const schedule = { kind: "cron", expr: "0 9 * * *" } as const;
    world.put({ id: "daily", schedule, zone: "UTC", ...due(0) });
    await world.broker.fireOnce();
    expect(world.outcomes()).toEqual(["daily time zone changed"]);
    expect(world.jobs.get("daily")).toMatchObject({ zone: "Asia/Tokyo" });
  });
});

describe("a process that does not keep running", () => {
  test("ends after a check that failed, and leaves its job due", async () => {
    const world = new BrokerWorld({}, { gates: { check: async () => ({ pass: true, output: "" }) } as never });
    world.put({ id: "a", gate });
    let posts = 0;
    world.before = (what) => {
      if (what !== "post") return;
      posts += 1;
      throw new StoreUnavailableError("away");
    };
    const firing = world.broker.fireOnce();
    await world.advance(10_000);
    await firing;
    expect([posts, world.outcomes()]).toEqual([1, []]);
  });

  test("fires every missed due time of a job with a gate, one after the other", async () => {
    let checks = 0;
    const check = async () => {
      checks += 1;
      return { pass: true, output: "" };
    };
    const world = new BrokerWorld({ settings: { cron: { missed: "all" } } }, { gates: { check } as never });
    world.put({ id: "a", gate, ...due(-2 * HOUR) });
    await world.broker.fireOnce();
    expect([checks, world.outcomes()]).toEqual([3, ["a fired", "a fired", "a fired"]]);
  });

  test("sets no timer", async () => {
    const world = new BrokerWorld();
    world.put({ id: "a" });
    await world.broker.fireOnce();
    expect([world.outcomes(), world.clock.timers]).toEqual([["a fired"], 0]);
  });
});
