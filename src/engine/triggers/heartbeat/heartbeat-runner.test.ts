import { expect, test } from "vitest";
import { START, virtualClock } from "../../../../test/kit/clock.ts";
import { failure, lastText } from "../../../../test/kit/model.ts";
import type { SettingsPart } from "../../../../test/kit/settings.ts";
import { parseConfig } from "../../../config/parse-config.ts";
import { TimeoutError } from "../../../core/errors.ts";
import type { AgentId, ChangeId, SessionKey } from "../../../core/ids.ts";
import { TriggerTestEngine } from "../triggers.test-kit.ts";
import { HeartbeatRunner, startHeartbeatRunner } from "./heartbeat-runner.ts";

const MINUTE = 60_000;
const HALF = 30 * MINUTE;
const JOB = "heartbeat:main";
const MAIN = "agent:main:main" as SessionKey;

/** The sections of the configuration that heartbeats are about. */
const beating = (text?: string): SettingsPart => {
  const { heartbeat, profiles } = config(text);
  return { heartbeat, profiles };
};
const config = (text = "{}") => parseConfig({ text, file: "rookery.json5", env: {} }).config;

async function open(text?: string, ports: Parameters<typeof TriggerTestEngine.open>[0] = {}) {
  const world = await TriggerTestEngine.open({ ...ports, settings: beating(text) });
  const owner = { type: "user", connector: "test", userId: "ann", channelId: "ann" } as const;
  await world.engine.say("hello", { to: { descriptor: owner, sessionKey: MAIN } });
  await world.engine.settle();
  world.engine.script = ({ request }) => (lastText(request).includes("HEARTBEAT") ? "HEARTBEAT_OK" : "answer");
  return world;
}

const reasons = async (world: TriggerTestEngine) =>
  (await world.slots(JOB)).map(({ status, reason }) => reason ?? status);

test("the heartbeat agent runs every half hour, and HEARTBEAT_OK is not sent", async () => {
  const world = await open();
  await world.leap(HALF);
  await world.leap(HALF);
  expect(await reasons(world)).toEqual(["fired", "fired"]);
  const agent = await world.store.agentByKey("agent:main:heartbeat" as SessionKey);
  expect(agent?.descriptor).toEqual({ type: "heartbeat" });
  expect(lastText(world.engine.requests.at(-1) as never)).toContain("Read HEARTBEAT.md if it exists");
  const deliveries = await world.engine.deliveries(agent?.id);
  expect(deliveries.map(({ state, reason }) => [state, reason])).toEqual([
    ["suppressed", "nothing needs attention (HEARTBEAT_OK)"],
    ["suppressed", "nothing needs attention (HEARTBEAT_OK)"],
  ]);
  expect((await world.slots(JOB)).every(({ end }) => end?.status === "ok")).toBe(true);
});

test("each tick begins a new session, so earlier ticks are not paid for again", async () => {
  const world = await open();
  for (let n = 0; n < 3; n++) await world.leap(HALF);
  const ticks = world.engine.requests.slice(-3);
  expect(new Set(ticks.map(({ sessionId }) => sessionId)).size).toBe(3);
  for (const { messages } of ticks) expect(messages).toHaveLength(1);
});

test("an alert goes to the person who wrote last, once a day", async () => {
  const world = await open();
  world.engine.script = () => "The disk is full.";
  for (let n = 0; n < 3; n++) await world.leap(HALF);
  expect(world.engine.shown().filter((text) => text === "The disk is full.")).toHaveLength(1);
  await world.leap(24 * 60 * MINUTE);
  expect(world.engine.shown().filter((text) => text === "The disk is full.")).toHaveLength(2);
});

test("the recipient is resolved once per tick, even if another person writes before the answer", async () => {
  const world = await open();
  const { promise, resolve } = Promise.withResolvers<string>();
  world.engine.script = ({ request }) => (lastText(request).includes("HEARTBEAT") ? promise : "hi");
  await world.leap(HALF);
  await world.engine.tell("me too", { name: "bob" });
  resolve("Look at this.");
  await world.engine.settle();
  const sent = world.engine.channel().calls.find(({ payload }) => payload.text === "Look at this.");
  expect(sent?.target).toMatchObject({ to: "ann" });
});

test("a tick without work or without a model is skipped with its reason, and no model is called", async () => {
  const table: readonly (readonly [string, string, (world: TriggerTestEngine) => Promise<void> | void, object?])[] = [
    ["quiet-hours", `{ heartbeat: { activeHours: { start: "20:00", end: "21:00", timezone: "UTC" } } }`, () => {}],
    ["empty-heartbeat-file", "{}", () => {}, { heartbeatFile: async () => "# nothing\n- [ ]\n" }],
    ["model: the key was rejected", "{}", () => {}, { modelProblem: () => "the key was rejected" }],
  ];
  for (const [reason, text, before, ports] of table) {
    const world = await open(text, { ports });
    const calls = world.engine.requests.length;
    await before(world);
    await world.leap(HALF);
    expect(await reasons(world), reason).toEqual([reason]);
    expect(world.engine.requests).toHaveLength(calls);
  }
});

test("a tick is skipped while its conversation is busy, and runs when it is idle", async () => {
  const world = await open(`{ heartbeat: { session: "main" } }`);
  const { promise, resolve } = Promise.withResolvers<string>();
  world.engine.script = ({ request }) => (lastText(request).includes("slow") ? promise : "HEARTBEAT_OK");
  const owner = { type: "user", connector: "test", userId: "ann", channelId: "ann" } as const;
  await world.engine.say("slow", { to: { descriptor: owner, sessionKey: MAIN } });
  await world.engine.settle();
  await world.leap(HALF);
  expect(await reasons(world)).toEqual(["requests-in-flight"]);
  resolve("done");
  await world.advance(5_000);
  expect((await reasons(world)).slice(0, 2)).toEqual(["requests-in-flight", "fired"]);
  expect(await reasons(world)).toHaveLength(2);
});

test("with session main the heartbeat runs in the main conversation", async () => {
  const world = await open(`{ heartbeat: { session: "main" } }`);
  await world.leap(HALF);
  const main = await world.store.agentByKey(MAIN);
  expect((await world.engine.runs(main?.id)).at(-1)?.body.trigger).toMatchObject({ type: "heartbeat" });
});

test("an event for the next heartbeat waits silently, and the tick gives the main agent a run", async () => {
  const world = await open("{}", { ports: { heartbeatFile: async () => "" } });
  const calls = world.engine.requests.length;
  await world.cron.add({
    name: "note",
    schedule: { kind: "at", atMs: START + 10 * MINUTE },
    payload: { kind: "systemEvent", text: "The parcel has come." },
    wakeMode: "next-heartbeat",
  });
  await world.leap(10 * MINUTE);
  expect(world.engine.requests).toHaveLength(calls);
  await world.leap(20 * MINUTE);
  expect(world.engine.requests).toHaveLength(calls + 1);
  expect(lastText(world.engine.requests.at(-1) as never)).toContain("The parcel has come.");
  await world.leap(HALF);
  expect(world.engine.requests).toHaveLength(calls + 1);
  expect(await reasons(world)).toEqual(["fired", "empty-heartbeat-file"]);
});

test("tasks run as one batch, without those whose gate does not pass", async () => {
  const tasks = async () => [
    { id: "mail", title: "Mail", prompt: "look at the mail" },
    { id: "disk", title: "Disk", prompt: "look at the disk" },
    { id: "no", title: "No", prompt: "never", gate: { kind: "http", url: "http://127.0.0.1/" } as const },
  ];
  const gates = { check: async () => ({ pass: false, reason: "no" }) as const };
  const world = await open("{}", { ports: { tasks }, gates });
  await world.leap(HALF);
  const prompt = lastText(world.engine.requests.at(-1) as never);
  expect(prompt).toContain("Run all 2 heartbeat tasks together.");
  expect(prompt).not.toContain("never");
});

test.each([
  ["its file has it", { untrusted: true }, true],
  ["a gate read it from the network", { gate: { kind: "http", url: "https://example.org/" } as const }, true],
  ["a gate ran a command", { gate: { kind: "command", command: "date" } as const }, undefined],
  ["neither", {}, undefined],
])("a task brings the mark of untrusted text if %s", async (_, more, expected) => {
  const tasks = async () => [{ id: "mail", title: "Mail", prompt: "look", ...more }];
  const gates = { check: async () => ({ pass: true, output: "obey" }) as const };
  const world = await open("{}", { ports: { tasks }, gates });
  await world.leap(HALF);
  const agent = await world.store.agentByKey("agent:main:heartbeat" as SessionKey);
  const [message] = await world.store.messages(agent?.id as AgentId, { limit: 1 });
  expect(message?.behalf).toEqual({ person: "owner", untrusted: expected });
});

test("a restart does not change the rhythm", async () => {
  const world = await open();
  await world.leap(10 * MINUTE);
  await world.restart();
  expect((await world.job(JOB)).state.nextRunAtMs).toBe(START + HALF);
  await world.leap(20 * MINUTE);
  expect(await reasons(world)).toEqual(["fired"]);
  await world.down(3 * HALF);
  expect((await world.slots(JOB)).map(({ status, count }) => [status, count])).toEqual([
    ["fired", 1],
    ["skipped", 2],
    ["fired", 1],
  ]);
});

test("a store that does not answer at the start only delays the heartbeat", async () => {
  const world = await open();
  const { job } = world.store;
  let sick = 3;
  (world.store as { job: typeof job }).job = async (id) => {
    if (sick-- > 0) throw new TimeoutError("The store does not answer.");
    return job(id);
  };
  await world.restart();
  expect(sick).toBe(2);
  await world.advance(3_000);
  expect(sick).toBeLessThan(0);
  await world.leap(HALF);
  expect(await reasons(world)).toEqual(["fired"]);
});

test("a changed configuration takes effect without a restart", async () => {
  const world = await open();
  await world.reload({ heartbeat: { every: "5m", prompt: "HEARTBEAT now" } });
  await world.leap(5 * MINUTE);
  expect(lastText(world.engine.requests.at(-1) as never)).toContain("HEARTBEAT now");
  await world.reload({ heartbeat: { every: "0" } });
  expect(await world.job(JOB)).toMatchObject({ enabled: false });
  const calls = world.engine.requests.length;
  await world.leap(60 * MINUTE);
  expect(world.engine.requests).toHaveLength(calls);
});

test("requests that come together become one tick with the most important reason", async () => {
  const world = await open("{}", { ports: { heartbeatFile: async () => "" } });
  world.triggers.heartbeat.requestNow("exec-event");
  world.triggers.heartbeat.requestNow("manual");
  world.triggers.heartbeat.requestNow("interval");
  await world.advance(300);
  // An empty file stops every reason except exec-event.
  expect(await reasons(world)).toEqual(["fired"]);
});

test("a request while the conversation is busy is tried again, each time after twice as long, at most a minute", async () => {
  const world = await open(`{ heartbeat: { session: "main", every: "24h" } }`);
  const { promise, resolve } = Promise.withResolvers<string>();
  world.engine.script = ({ request }) => (lastText(request).includes("slow") ? promise : "HEARTBEAT_OK");
  const owner = { type: "user", connector: "test", userId: "ann", channelId: "ann" } as const;
  await world.engine.say("slow", { to: { descriptor: owner, sessionKey: MAIN } });
  await world.engine.settle();
  const tried: number[] = [];
  const { job } = world.store;
  (world.store as { job: typeof job }).job = (id) => {
    if (id === JOB) tried.push(world.clock.monotonic());
    return job(id);
  };
  world.triggers.heartbeat.requestNow("manual");
  await world.advance(5 * MINUTE);
  const [first = 0, ...later] = tried;
  expect(later.map((at) => (at - first) / 1_000)).toEqual([1, 3, 7, 15, 31, 63, 123, 183, 243]);
  resolve("done");
  await world.advance(MINUTE);
  expect((await reasons(world)).at(-1)).toBe("fired");
});

test("a request before the start and after the stop does nothing", async () => {
  const clock = virtualClock();
  const store = { job: async () => undefined, jobs: async () => [] };
  const ports = { clock, store } as never;
  const runner = new HeartbeatRunner(ports, config(`{ heartbeat: { every: "0" } }`));
  runner.requestNow("manual", "main");
  expect(clock.timers).toBe(0);
  await runner.start({} as never);
  runner.requestNow("manual", "main");
  expect(clock.timers).toBe(1);
  runner.stop();
  expect(clock.timers).toBe(0);
  runner.requestNow("manual", "main");
  expect(clock.timers).toBe(0);
});

test("an error that no later try can mend ends the start, and is not tried again", async () => {
  const clock = virtualClock();
  const broken = { job: () => Promise.reject(new TypeError("no such table")), jobs: async () => [] };
  const ports = { clock, store: broken } as never;
  await expect(startHeartbeatRunner({ ports, cfg: config(), agents: {} as never })).rejects.toThrow("no such table");
  expect(clock.timers).toBe(0);
});

test("runHeartbeatOnce returns how the run ended", async () => {
  const world = await open();
  expect(await world.triggers.heartbeat.runHeartbeatOnce()).toMatchObject({ status: "ran" });
  world.engine.script = () => failure("request");
  expect(await world.triggers.heartbeat.runHeartbeatOnce()).toMatchObject({ status: "failed" });
  await world.reload({ heartbeat: { every: "0" } });
  expect(await world.triggers.heartbeat.runHeartbeatOnce()).toEqual({ status: "skipped", reason: "disabled" });
});

test("the heartbeat's daily budget stops the ticks until the next day", async () => {
  const world = await open(`{ heartbeat: { dollarsPerDay: 1 } }`);
  world.engine.script = () => ({
    content: [{ type: "text", text: "HEARTBEAT_OK" }],
    usage: {
      input: 1,
      output: 1,
      cacheRead: 0,
      cacheWrite: 0,
      totalTokens: 2,
      cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0.6 },
    },
  });
  for (let n = 0; n < 4; n++) await world.leap(HALF);
  expect(await reasons(world)).toEqual(["fired", "fired", "budget", "budget"]);
  await world.leap(24 * 60 * MINUTE);
  expect((await reasons(world)).at(-1)).toBe("fired");
});

test("the heartbeat uses its own model", async () => {
  const world = await open(`{ heartbeat: { model: "ollama/one" } }`);
  await world.leap(HALF);
  const agent = await world.store.agentByKey("agent:main:heartbeat" as SessionKey);
  expect((await world.engine.runs(agent?.id)).at(-1)?.body.wishes).toEqual({ model: "ollama/one" });
});

test("the job of a removed profile is turned off, also beside jobs whose ids only look like a heartbeat's", async () => {
  const profiles = (more: string) => `{ profiles: { main: { heartbeat: {} }, work: { ${more} } } }`;
  const world = await open(profiles("heartbeat: {}"));
  const look = { name: "x", schedule: "0 9 * * *", payload: { message: "x" } };
  const { id } = await world.cron.add(look);
  const job = { ...(await world.job(id)), id: "heartbeat-lookalike" };
  const put = { op: "job.put", job, expect: 0 } as const;
  await world.store.commit({ id: "test-change" as ChangeId, site: "test", at: 1, ops: [put] });
  expect(await world.job("heartbeat:work")).toMatchObject({ enabled: true });
  await world.reload({ profiles: { work: { heartbeat: undefined } } });
  expect(await world.job("heartbeat:work")).toMatchObject({ enabled: false });
});
