/** The hooks of triggers into runs, and what starting, stopping and a changed configuration do to them. */
import { setImmediate } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { START, virtualClock } from "../../../test/kit/clock.ts";
import { recordingLog } from "../../../test/kit/log.ts";
import { type SettingsPart, testConfig, testSettings } from "../../../test/kit/settings.ts";
import type { CronJob } from "../../core/schedule/job.ts";
import type { PostRequest } from "../agents/message-ingress.ts";
import { Triggers } from "./triggers.ts";

const HOUR = 3_600_000;
const jobOf = (more: Partial<CronJob> = {}): CronJob => ({
  id: "j",
  name: "job",
  enabled: true,
  createdAtMs: 1,
  updatedAtMs: 1,
  schedule: { kind: "every", everyMs: HOUR, anchorMs: START },
  sessionTarget: "isolated",
  wakeMode: "now",
  payload: { kind: "agentTurn", message: "work" },
  state: { nextRunAtMs: START },
  behalf: { person: "owner" as never },
  version: 1,
  ...more,
});

interface Stored {
  readonly jobs?: readonly CronJob[];
  readonly delivery?: object;
  readonly agents?: Readonly<Record<string, object>>;
}

function open(part: SettingsPart = {}, { jobs = [], delivery, agents = {} }: Stored = {}) {
  const clock = virtualClock();
  const settings = testSettings(part);
  const move = (more: SettingsPart) => settings.replace(testConfig(settings.current, more));
  const reload = async (more: SettingsPart = {}) => {
    move(more);
    await triggers.updateConfig(settings.current);
  };
  const reads: string[] = [];
  const sites: string[] = [];
  const posts: PostRequest[] = [];
  const known = new Map(jobs.map((job) => [job.id, job]));
  const store = new Proxy(
    {
      job: async (id: string) => known.get(id),
      jobs: async () => [...known.values()],
      nextJobs: async ({ before = 0 }: { before?: number }) => {
        await setImmediate();
        return [...known.values()].filter(({ state }) => (state.nextRunAtMs ?? Infinity) <= before);
      },
      jobSlot: async () => undefined,
      agentByKey: async (key: string) => agents[key],
      delivery: async (id: string) => (id === "r.0" ? delivery : undefined),
      request: async () => undefined,
      rightsRevision: async () => 1,
      people: async () => [],
      recentForeground: async () => [],
      fact: async () => undefined,
      outcome: async () => undefined,
      commit: async ({ site }: { site: string }) => {
        await setImmediate();
        sites.push(site);
        return { ok: true, results: [] };
      },
    } as Record<string, unknown>,
    {
      get: (target, name: string) => {
        reads.push(name);
        return target[name];
      },
    },
  );
  let ids = 0;
  const made = () => `id${++ids}`;
  const triggers = new Triggers(
    {
      clock,
      store,
      ids: { uuid: made, change: made, agent: made, entry: made },
      log: recordingLog([]),
      reveal: () => "open",
    } as never,
    { settings },
  );
  const system = {
    post: async (request: PostRequest) => {
      posts.push(request);
      for (const op of request.also ?? []) if (op.op === "job.put") known.set(op.job.id, op.job);
      return { status: "accepted", agentId: "a", seq: 1, duplicate: false };
    },
  } as never;
  const settle = async () => {
    for (let n = 0; n < 3; n++) await setImmediate();
  };
  return { triggers, move, reload, clock, reads, sites, posts, system, settle };
}

const HEARTBEAT = { every: "30m", ackMaxChars: 2 };
const agent = { id: "w", profile: "main", sessionKey: "cron:j", state: {}, descriptor: { type: "cron", id: "j" } };
const runOf = (trigger?: object) => ({ id: "r", startedAt: 1, body: { deliveries: 0, trigger } }) as never;
const CRON = { type: "cron", id: "j", slot: "1@5" };
const BEAT = { type: "heartbeat", id: "heartbeat:main", slot: "1@5" };

describe("the end of a run", () => {
  const result = { runId: "r", outcome: "ok", payloads: [{ text: "done" }], meta: { durationMs: 1 } } as never;

  test("without a trigger reads nothing and writes nothing", async () => {
    const { triggers, reads } = open();
    expect(await triggers.hooks.opsOnRunEnd?.(agent as never, runOf(), result, [])).toEqual([]);
    expect(reads).toEqual([]);
  });

  test("with one is recorded now, with its deliveries, and told to the main conversation", async () => {
    const descriptor = { type: "user", connector: "test", userId: "ann", channelId: "ann" };
    const main = { id: "m", profile: "main", sessionKey: "agent:main:home", state: {}, descriptor };
    const { triggers } = open(
      { session: { mainKey: "home" } },
      { jobs: [jobOf()], agents: { "agent:main:home": main } },
    );
    const deliveries = [{ id: "r.0" }] as never;
    const ops = await triggers.hooks.opsOnRunEnd?.(agent as never, runOf(CRON), result, deliveries);
    expect(ops).toMatchObject([
      { op: "job.ran", jobId: "j", slot: "1@5", end: { at: START, deliveryIds: ["r.0"] } },
      { op: "message.post", to: { agentId: "m" }, message: { acceptedAt: START } },
    ]);
  });

  test("that never was closes its slot", async () => {
    const message = { body: { kind: "trigger", trigger: CRON } };
    const settled = { state: "dropped", reason: "dropped" } as const;
    expect(await open().triggers.hooks.opsOnSettle?.(agent as never, [message] as never, settled)).toMatchObject([
      { op: "job.ran", jobId: "j", slot: "1@5", end: { at: START, status: "dropped", error: "dropped" } },
    ]);
  });

  test("of a delivery is recorded in its slot", async () => {
    const { hooks } = open().triggers;
    const of = (slot?: object) => ({ payload: { text: "x", slot } }) as never;
    expect(await hooks.opsOnDelivered?.(of({ jobId: "j", slot: "1@5" }), { to: "sent" } as never)).toMatchObject([
      { op: "job.delivered", jobId: "j", slot: "1@5", told: { at: START, status: "sent", failed: false } },
    ]);
    expect(await hooks.opsOnDelivered?.(of(), { to: "sent" } as never)).toEqual([]);
  });
});

describe("the reply of a run", () => {
  const said = (text: string) => ({ payload: { text }, reasoning: "" }) as never;
  const shaped = async (trigger: object | undefined, text: string, stored: Stored = {}, state: object = {}) => {
    const { triggers } = open({ heartbeat: HEARTBEAT }, stored);
    return triggers.hooks.replyOf?.({ ...agent, state } as never, runOf(trigger), said(text));
  };
  const last = { id: "r.0", payload: { text: "The disk is full." }, createdAt: START - 1, state: "sent" };

  test("of a person stays as it is, unless it has the token", async () => {
    const { hooks } = open().triggers;
    // At once, and not later.
    expect(hooks.replyOf?.(agent as never, runOf(), said("hello"))).toBeUndefined();
    expect(await shaped(undefined, "hello")).toBeUndefined();
    expect(await shaped(undefined, "hello HEARTBEAT_OK")).toEqual({ payloads: [{ text: "hello" }] });
  });

  test("of a job stays as it is, unless it says nothing", async () => {
    expect(await shaped(CRON, "done")).toBeUndefined();
    expect(await shaped(CRON, "HEARTBEAT_OK")).toMatchObject({ payloads: [], suppress: expect.any(String) });
  });

  test("of the heartbeat is measured by its configuration", async () => {
    expect(await shaped(BEAT, "HEARTBEAT_OK ok")).toMatchObject({ payloads: [] });
    expect(await shaped(BEAT, "HEARTBEAT_OK yes")).toMatchObject({ payloads: [{ text: "yes" }] });
  });

  test("of the heartbeat is compared with its last one, and that of a job is not", async () => {
    const state = { lastHeartbeatDeliveryId: "r.0" };
    const text = "The disk is full.";
    expect(await shaped(BEAT, text, { delivery: last }, state)).toMatchObject({ payloads: [] });
    expect(await shaped(BEAT, text, {}, state)).toMatchObject({ payloads: [{ text }] });
    expect(await shaped(CRON, `${text} HEARTBEAT_OK`, { delivery: last }, state)).toMatchObject({
      payloads: [{ text }],
    });
  });
});

describe("the session of a run", () => {
  const main = { id: "m", state: { thinkingLevel: "high" } };
  const session = (...kinds: string[]) =>
    open(
      { session: { mainKey: "home" } },
      { jobs: [jobOf()], agents: { "agent:main:home": main } },
    ).triggers.hooks.sessionFor?.(
      agent as never,
      kinds.map((kind) => ({ body: { kind, text: "x", trigger: CRON } })) as never,
    );

  test("is new for a trigger, with the settings of the main conversation, and for words it stays", async () => {
    expect(await session("user", "trigger")).toMatchObject({ thinkingLevel: "high" });
    expect(await session("trigger", "user")).toBeUndefined();
    expect(await session()).toBeUndefined();
  });
});

describe("the broker", () => {
  test("is woken by a tool that writes a job, and by nothing else", async () => {
    const { triggers, system, settle, reads } = open();
    await triggers.start(system);
    await settle();
    const looks = () => reads.filter((name) => name === "nextJobs").length;
    const before = looks();
    triggers.hooks.onToolOps?.([{ op: "rights.move" }]);
    await settle();
    expect(looks()).toBe(before);
    triggers.hooks.onToolOps?.([{ op: "rights.move" }, { op: "job.put", job: jobOf() }]);
    await settle();
    expect(looks()).toBeGreaterThan(before);
    await triggers.stop();
  });

  test("is woken by a job that is added, and reads nothing after its stop", async () => {
    const { triggers, system, settle, reads, clock } = open();
    const looks = () => reads.filter((name) => name === "nextJobs").length;
    await triggers.cron.wake("look");
    expect(looks()).toBe(0);
    await triggers.start(system);
    await settle();
    const before = looks();
    await triggers.cron.wake("look");
    await settle();
    expect(looks()).toBeGreaterThan(before);
    await triggers.stop();
    expect(clock.timers).toBe(0);
    const after = looks();
    triggers.wake();
    await settle();
    expect(looks()).toBe(after);
  });
});

test("a stop while the triggers start holds", async () => {
  const { triggers, system, settle, reads, clock } = open({ heartbeat: HEARTBEAT });
  const starting = triggers.start(system);
  await triggers.stop();
  await starting;
  await settle();
  expect([reads.includes("nextJobs"), clock.timers]).toEqual([false, 0]);
});

test("a stop waits for the read that is under way", async () => {
  const { triggers, system, settle, reads, posts } = open({}, { jobs: [jobOf()] });
  await triggers.start(system);
  await triggers.stop();
  const before = reads.length;
  await settle();
  expect([reads.length, posts]).toEqual([before, []]);
});

describe("a process that does not keep running", () => {
  test("posts to the agents, and leaves the heartbeat due", async () => {
    const beat = jobOf({ id: "heartbeat:main", system: "heartbeat" });
    const { triggers, system, sites, posts, clock } = open({ heartbeat: HEARTBEAT }, { jobs: [jobOf(), beat] });
    await triggers.fireOnce(system);
    expect(posts.map(({ key }) => key)).toEqual([`slot:j:1@${START}`]);
    await triggers.cron.run("j");
    expect([sites, posts.length, clock.timers]).toEqual([[], 2, 0]);
  });
});

describe("a job that is run by hand", () => {
  test("is committed before the agents are connected, and posted to them from then on", async () => {
    const { triggers, system, sites, posts } = open({}, { jobs: [jobOf()] });
    await triggers.cron.run("j");
    expect([sites, posts]).toEqual([["cron.run"], []]);
    triggers.connect(system);
    await triggers.cron.run("j");
    expect([sites.length, posts.length]).toEqual([1, 1]);
  });

  test("is posted also while the triggers start", async () => {
    const off = { jobs: [jobOf({ state: {} })] };
    const { triggers, system, sites, posts } = open({ heartbeat: HEARTBEAT }, off);
    const starting = triggers.start(system);
    await triggers.cron.run("j");
    await starting;
    expect([sites, posts.length]).toEqual([["heartbeat.add"], 1]);
    await triggers.stop();
  });
});

describe("a changed configuration", () => {
  test("has other webhooks from then on, and none without one", async () => {
    const none = open();
    expect((await none.triggers.acceptHook(none.system, "w", { headers: {}, body: "" })).status).toBe(404);
    const { triggers, system, posts, reload } = open({
      hooks: { old: { token: "t", target: "isolated" } } as never,
    });
    const status = async (name: string) =>
      (await triggers.acceptHook(system, name, { headers: { authorization: "Bearer open" }, body: "{}" })).status;
    expect([await status("old"), await status("new")]).toEqual([202, 404]);
    await reload({ hooks: { old: undefined, new: { token: "t" } } as never });
    expect([await status("old"), await status("new")]).toEqual([404, 202]);
    expect(posts).toHaveLength(2);
  });

  test("of the webhooks reaches the main conversation by its configured name", async () => {
    const { triggers, system, posts } = open({
      session: { mainKey: "home" },
      hooks: { w: { token: "t", target: "main" } } as never,
    });
    await triggers.acceptHook(system, "w", { headers: { authorization: "Bearer open" }, body: "{}" });
    expect(posts[0]?.to).toMatchObject({ sessionKey: "agent:main:home" });
  });

  test("adds the heartbeat's job", async () => {
    const { sites, reload } = open();
    await reload();
    expect(sites).toEqual([]);
    await reload({ heartbeat: { every: "30m" } });
    expect(sites).toEqual(["heartbeat.add"]);
  });

  test("compares the due times of jobs with the zone again", async () => {
    const daily = jobOf({ schedule: { kind: "cron", expr: "0 10 * * *" }, zone: "UTC" });
    const { triggers, system, settle, sites, move, reload } = open({}, { jobs: [daily] });
    await triggers.start(system);
    await settle();
    await reload();
    await settle();
    expect(sites).toEqual([]);
    move({ session: { timeZone: "Asia/Tokyo" } });
    triggers.wake();
    await settle();
    expect(sites).toEqual([]);
    await reload();
    await settle();
    expect(sites).toEqual(["cron.replan"]);
    await triggers.stop();
  });
});

describe("the heartbeat", () => {
  test("has its job when the triggers have started, and none without a configuration", async () => {
    const beating = open({ heartbeat: HEARTBEAT });
    await beating.triggers.start(beating.system);
    expect(beating.sites).toEqual(["heartbeat.add"]);
    await beating.triggers.stop();
    const silent = open();
    await silent.triggers.start(silent.system);
    expect(silent.sites).toEqual([]);
    expect(silent.triggers.heartbeat.summary("main").enabled).toBe(false);
    await silent.triggers.stop();
  });

  test("is stopped with the triggers", async () => {
    const { triggers, system, clock, settle } = open({ heartbeat: HEARTBEAT });
    await triggers.start(system);
    await settle();
    triggers.heartbeat.requestNow("manual");
    expect(clock.timers).toBe(2);
    const stopping = triggers.stop();
    expect(clock.timers).toBe(0);
    await stopping;
  });
});
