/** What a tick of the heartbeat posts and records: due ticks, ticks on request, and one that someone waits for. */
import { describe, expect, test } from "vitest";
import { virtualClock } from "../../../../test/kit/clock.ts";
import { seededIds } from "../../../../test/kit/ids.ts";
import { type LogLine, recordingLog } from "../../../../test/kit/log.ts";
import { parseConfig } from "../../../config/parse-config.ts";
import type { CronJob } from "../../../core/schedule/job.ts";
import type { Change } from "../../../core/store/change.ts";
import { HeartbeatRunner } from "./heartbeat-runner.ts";

const config = (text = "{}") => parseConfig({ text, file: "rookery.json5", env: {} }).config;
const TWO = `{ profiles: { one: { heartbeat: {} }, two: { heartbeat: { prompt: "second" } } } }`;
const turn = (): Promise<void> => new Promise((done) => setImmediate(done));

interface World {
  readonly text?: string;
  /** How the run that someone waits for ends. */
  readonly ends?: () => unknown;
  readonly hasJob?: boolean;
  readonly isBusy?: boolean;
  /** Called while a tick is decided. */
  readonly deciding?: () => void;
  readonly events?: readonly string[];
  readonly file?: string;
  readonly post?: (request: { key: string }) => Promise<void>;
}

async function open({
  text,
  ends,
  hasJob = true,
  isBusy,
  deciding,
  events = [],
  file,
  post = async () => {},
}: World = {}) {
  const clock = virtualClock();
  const commits: Change[] = [];
  const posts: { key: string; body: { text: string; trigger: object }; also?: readonly object[] }[] = [];
  const awaited: typeof posts = [];
  const waits: object[] = [];
  const log: LogLine[] = [];
  const jobOf = (id: string): CronJob =>
    ({ id, agentId: id.split(":")[1], revision: 2, version: 1, state: {}, enabled: true, schedule: {} }) as never;
  let isStarted = false;
  const store = {
    // While the runner starts, every job is as the configuration wants it.
    job: async (id: string) =>
      !isStarted ? { ...jobOf(id), schedule: { kind: "every", everyMs: 1_800_000 } } : hasJob ? jobOf(id) : undefined,
    jobs: async () => [],
    agentByKey: async (key: string) => {
      deciding?.();
      return isBusy || (events.length > 0 && key.endsWith(":main")) ? { id: "a", waiting: isBusy ? 1 : 0 } : undefined;
    },
    runs: async () => [],
    messages: async () =>
      events.map((said, n) => ({
        ...{ seq: n + 1, acceptedAt: 0 },
        body: { kind: "system", text: said, origin: "cron:j", silent: true },
      })),
    commit: async (change: Change) => {
      // A commit takes longer than a read.
      for (let n = 0; n < 9; n++) await undefined;
      commits.push(change);
      return { ok: true, results: [] };
    },
    outcome: async () => undefined,
  };
  const people = { addressOf: async () => ({ channel: "chat", to: "owner" }) };
  const heartbeatFile = file === undefined ? undefined : async () => file;
  const ports = { clock, store, people, heartbeatFile, ids: seededIds("posts"), log: recordingLog(log) };
  const runner = new HeartbeatRunner(ports as never, { ...config(text), session: { timeZone: "UTC" } });
  const agents = {
    post: async (request: never) => {
      posts.push(request);
      await post(request);
    },
    postAndAwait: async (request: never, options: object) => {
      awaited.push(request);
      waits.push(options);
      await clock.advance(40);
      return { result: ends?.() };
    },
  };
  const start = async (): Promise<void> => {
    await runner.start(agents as never);
    isStarted = true;
  };
  const slots = () => commits.flatMap(({ ops }) => ops as readonly object[]);
  return {
    clock,
    runner,
    posts,
    awaited,
    waits,
    slots,
    log,
    start,
    jobOf,
    advance: (ms: number) => clock.advance(ms, turn),
  };
}

describe("a heartbeat that someone waits for", () => {
  const ended = (outcome: string, more: object = {}) => ({ outcome, meta: { durationMs: 7, ...more } });

  test.each<readonly [string, (() => unknown) | undefined, object]>([
    ["went well", () => ended("ok"), { status: "ran", durationMs: 7 }],
    ["left no result", undefined, { status: "ran", durationMs: 40 }],
    ["failed", () => ended("error", { error: { message: "no key" } }), { status: "failed", reason: "no key" }],
    ["ran out of time", () => ended("timeout"), { status: "failed", reason: "timeout" }],
    [
      "could not be awaited",
      () => {
        throw new Error("the store is gone");
      },
      { status: "failed", reason: expect.stringContaining("the store is gone") },
    ],
  ])("says how it ended: it %s", async (_how, ends, result) => {
    const { runner, start, awaited, posts } = await open({ ends });
    await start();
    expect(await runner.runHeartbeatOnce()).toEqual(result);
    expect([awaited.length, posts.length]).toEqual([1, 0]);
  });

  test("is posted with the record of its slot, in one commit and under its name", async () => {
    const { runner, start, awaited, slots } = await open();
    await start();
    await runner.runHeartbeatOnce();
    const [request] = awaited;
    expect(request?.key).toMatch(/^slot:heartbeat:main:wake@/u);
    const slot = request?.key.slice("slot:heartbeat:main:".length);
    expect(request).toMatchObject({
      body: { kind: "trigger", trigger: { type: "heartbeat", id: "heartbeat:main", slot } },
      also: [{ op: "job.slot", slot: { jobId: "heartbeat:main", slot, status: "fired", count: 1 } }],
      delivery: { channel: "chat", to: "owner" },
    });
    expect(slots()).toEqual([]);
  });

  test("is awaited for a day, not longer", async () => {
    const { runner, start, waits } = await open();
    await start();
    await runner.runHeartbeatOnce();
    expect(waits).toEqual([{ timeoutMs: 86_400_000 }]);
  });

  test("is that of the first profile, or of the one that is named", async () => {
    const { runner, start, awaited } = await open({ text: TWO });
    await start();
    await runner.runHeartbeatOnce();
    await runner.runHeartbeatOnce({ agentId: "two" });
    expect(awaited.map(({ key }) => key.split(":")[2])).toEqual(["one", "two"]);
    expect(awaited[1]?.body.text).toContain("second");
  });

  test("without a job records no slot, and before the start does not run", async () => {
    const without = await open({ hasJob: false });
    await without.start();
    expect(await without.runner.runHeartbeatOnce()).toMatchObject({ status: "ran" });
    expect(without.awaited[0]?.also).toEqual([]);
    const early = await open({ hasJob: false });
    expect(await early.runner.runHeartbeatOnce()).toEqual({ status: "failed", reason: "the agents are not started" });
  });

  test("that is skipped leaves a record with its reason, if there is a job", async () => {
    const skipped = { status: "skipped", reason: "empty-heartbeat-file" };
    const { runner, start, slots, awaited } = await open({ file: "" });
    await start();
    expect(await runner.runHeartbeatOnce()).toEqual(skipped);
    expect(slots()).toMatchObject([
      {
        op: "job.slot",
        slot: { ...skipped, jobId: "heartbeat:main", slot: expect.stringMatching(/^wake@/u), count: 1, revision: 2 },
      },
    ]);
    expect(awaited).toEqual([]);
    const without = await open({ file: "", hasJob: false });
    await without.start();
    expect([await without.runner.runHeartbeatOnce(), without.slots()]).toEqual([skipped, []]);
    // A program that waits is a reason to run in spite of an empty file.
    expect(await runner.runHeartbeatOnce({ reason: "exec-event" })).toMatchObject({ status: "ran" });
  });
});

describe("a heartbeat on request", () => {
  test("is posted once, and no one waits for its run", async () => {
    const { runner, start, posts, awaited, advance, clock } = await open();
    await start();
    runner.requestNow();
    await advance(250);
    expect([posts.length, awaited.length, clock.timers]).toEqual([1, 0, 0]);
    expect(posts[0]).toMatchObject({ key: expect.stringMatching(/^slot:heartbeat:main:wake@/u), also: [{}] });
    runner.requestNow();
    await advance(250);
    expect(posts).toHaveLength(2);
  });

  test("of no profile is one for each", async () => {
    const { runner, start, posts, advance } = await open({ text: TWO });
    await start();
    runner.requestNow("manual");
    await advance(250);
    expect(posts.map(({ key }) => key.split(":")[2]).toSorted()).toEqual(["one", "two"]);
  });

  test.each([
    ["manual", ["requests-in-flight"]],
    ["retry", []],
  ])("for the reason %s while the agent is busy records %j, and is tried again", async (reason, records) => {
    const { runner, start, slots, advance, clock } = await open({ isBusy: true });
    await start();
    runner.requestNow(reason, "main", 10);
    await advance(10);
    expect(slots().map((op) => (op as { slot: { reason: string } }).slot.reason)).toEqual(records);
    expect(clock.timers).toBe(1);
    runner.stop();
    expect(clock.timers).toBe(0);
  });

  test("while another one is decided takes the place of its next try", async () => {
    const looked: number[] = [];
    const world = await open({
      isBusy: true,
      deciding: () => {
        looked.push(world.clock.monotonic());
        if (looked.length === 1) world.runner.requestNow("manual", "main", 100);
      },
    });
    await world.start();
    looked.length = 0;
    world.runner.requestNow("manual", "main", 10);
    await world.advance(10);
    expect(world.clock.timers).toBe(1);
    await world.advance(100);
    expect([looked, world.clock.timers]).toEqual([[10, 110], 1]);
    await world.advance(999);
    expect(looked).toEqual([10, 110]);
    await world.advance(1);
    expect(looked).toEqual([10, 110, 1_110]);
    world.runner.stop();
  });

  test("that is skipped for another reason is not tried again", async () => {
    const { runner, start, advance, clock } = await open({ file: "" });
    await start();
    runner.requestNow();
    await advance(250);
    expect(clock.timers).toBe(0);
  });
});

describe("a due tick", () => {
  const firing = { slot: "2@5" } as never;

  test("is decided for its profile and posted by the broker", async () => {
    const { runner, start, posts, jobOf, clock } = await open({ text: TWO });
    await start();
    const decision = await runner.tick(jobOf("heartbeat:two"), firing);
    expect(decision).toMatchObject({ kind: "post", message: { body: { text: expect.stringContaining("second") } } });
    expect([posts, clock.timers]).toEqual([[], 0]);
  });

  test("asks for another one soon while the agent is busy, and for no other reason", async () => {
    const busy = await open({ isBusy: true });
    await busy.start();
    expect(await busy.runner.tick(busy.jobOf("heartbeat:main"), firing)).toMatchObject({
      reason: "requests-in-flight",
    });
    expect(busy.clock.timers).toBe(1);
    const empty = await open({ file: "" });
    await empty.start();
    expect(await empty.runner.tick(empty.jobOf("heartbeat:main"), firing)).toMatchObject({ kind: "skip" });
    expect(empty.clock.timers).toBe(0);
  });

  test("gives the main agent a run of its own for events, which belongs to no slot", async () => {
    const { runner, start, posts, jobOf, awaited } = await open({ events: ["parcel"] });
    await start();
    await runner.tick(jobOf("heartbeat:main"), firing);
    const events = {
      to: { sessionKey: "agent:main:main" },
      body: {
        kind: "trigger",
        text: expect.stringContaining("parcel"),
        trigger: { type: "heartbeat", id: "heartbeat:main" },
      },
    };
    expect(posts).toMatchObject([{ ...events, key: "slot:heartbeat:main:2@5:events" }]);
    expect(posts[0]?.body.trigger).not.toHaveProperty("slot");
    await runner.runHeartbeatOnce();
    expect(posts).toMatchObject([
      events,
      { ...events, key: expect.stringMatching(/^slot:heartbeat:main:wake@.*:events$/u) },
    ]);
    expect(awaited[0]?.body.text).not.toContain("parcel");
  });

  test("goes on if the events cannot be posted: the next tick finds them", async () => {
    const post = () => Promise.reject(new Error("the store is gone"));
    const { runner, start, jobOf, log } = await open({ events: ["parcel"], post });
    await start();
    expect(await runner.tick(jobOf("heartbeat:main"), firing)).toMatchObject({ kind: "post" });
    await turn();
    expect(JSON.stringify(log)).toContain("cannot post the events to the main agent now");
  });
});
