import { describe, expect, test } from "vitest";
import { START } from "../../../test/kit/clock.ts";
import { failure, lastText } from "../../../test/kit/model.ts";
import type { AgentState } from "../../core/agent/state.ts";
import type { SessionKey } from "../../core/ids.ts";
import type { GateVerdict } from "../../core/ports/gate-runner.ts";
import { resolveCronSession } from "./cron/cron-session.ts";
import { TriggerTestEngine } from "./triggers.test-kit.ts";

const MINUTE = 60_000;
const every = { kind: "every", everyMs: MINUTE } as const;

async function open(options: Parameters<typeof TriggerTestEngine.open>[0] = {}) {
  const world = await TriggerTestEngine.open(options);
  await world.engine.tell("hello");
  const main = await world.store.agent(await world.engine.agentId());
  const add = (payload: object, more: object = {}) =>
    world.cron.add(
      { name: "job", schedule: every, payload: { kind: "agentTurn", message: "work", ...payload }, ...more },
      { sessionKey: main?.sessionKey },
    );
  return { world, main: main as NonNullable<typeof main>, add };
}

describe("the recipient of an isolated run's answer", () => {
  test.each([
    [{}, ["ann"], "sent"],
    [{ deliver: false }, [], "none"],
    [{ deliver: true }, ["ann"], "sent"],
    [{ deliver: true, channel: "last" }, ["ann"], "sent"],
    [{ channel: "test", to: "carol" }, ["carol"], "sent"],
    [{ to: "test:dora" }, ["dora"], "sent"],
    [{ deliver: false, channel: "test", to: "carol" }, [], "none"],
    [{ deliver: true, to: "half" }, [], "unroutable"],
    [{ deliver: true, channel: "test" }, [], "unroutable"],
    [{ to: "test:" }, [], "unroutable"],
    [{ deliver: true, to: "half", bestEffortDeliver: true }, [], "unroutable"],
  ] as const)("with the payload %j", async (payload, to, delivery) => {
    const { world, add } = await open();
    const { id } = await add(payload);
    const before = world.engine.channel().calls.length;
    await world.leap(MINUTE);
    expect(
      world.engine
        .channel()
        .calls.slice(before)
        .map(({ target }) => target.to),
    ).toEqual(to);
    const [slot] = await world.cron.runs(id);
    expect(slot?.end).toMatchObject({ status: "ok", delivery: { status: delivery } });
    // A missing recipient is no failure of the job: its words are listed until they have a route.
    expect((await world.job(id)).state).toMatchObject({ lastStatus: "ok", consecutiveErrors: 0 });
    expect(slot?.deliveries.map(({ state }) => state)).toEqual(delivery === "none" ? [] : [delivery]);
  });

  test("an answer with only HEARTBEAT_OK is suppressed with its reason", async () => {
    const { world, add } = await open();
    world.engine.script = () => "HEARTBEAT_OK";
    const { id } = await add({ deliver: true });
    await world.leap(MINUTE);
    const [slot] = await world.cron.runs(id);
    expect(slot?.deliveries).toMatchObject([{ state: "suppressed", reason: "nothing needs attention (HEARTBEAT_OK)" }]);
  });
});

describe("the end of a job's delivery", () => {
  const refusing = async (payload: object, schedule: object = every) => {
    const { world, add } = await open();
    const { id } = await add({ channel: "test", to: "carol", ...payload }, { schedule });
    const { sending } = world.engine.channel();
    world.engine.channel().sending = (delivery, n, signal) =>
      delivery.target.to === "carol" ? { status: "refused", reason: "no such person" } : sending(delivery, n, signal);
    return { world, id, sending };
  };
  /** Runs one due time after the other, each after the backoff. */
  const later = (world: TriggerTestEngine) => world.leap(2 * 3600_000);

  test("is recorded in slot and job; two failures in a row alert the person, ten turn the job off", async () => {
    const { world, id } = await refusing({});
    world.engine.script = ({ request }) => (lastText(request).includes("⚠️") ? lastText(request) : "the news");
    await world.leap(MINUTE);
    const [slot] = await world.cron.runs(id);
    expect(slot?.end).toMatchObject({ status: "ok", delivery: { status: "failed", reason: "no such person" } });
    expect((await world.job(id)).state).toMatchObject({ lastStatus: "error", consecutiveErrors: 1 });
    const alerts = () =>
      world.engine.shown().filter((text) => text.includes("failed 2 times in a row: no such person"));
    expect(alerts()).toHaveLength(0);
    await later(world);
    expect((await world.job(id)).state).toMatchObject({ consecutiveErrors: 2, lastDeliveryStatus: "failed" });
    expect(alerts()).toHaveLength(1);
    for (let n = 0; n < 10; n++) await later(world);
    expect(await world.job(id)).toMatchObject({ enabled: false, state: { disabledReason: "10 failures in a row" } });
    expect(world.engine.shown().some((text) => text.includes("failed 10 times in a row and was turned off"))).toBe(
      true,
    );
  });

  test("resets earlier failures if it was sent", async () => {
    const { world, id, sending } = await refusing({});
    await world.leap(MINUTE);
    world.engine.channel().sending = sending;
    await later(world);
    const { state } = await world.job(id);
    expect([state.consecutiveErrors, state.lastDeliveryStatus, state.lastStatus]).toEqual([0, "sent", "ok"]);
  });

  test("does not count for best effort", async () => {
    const { world, id } = await refusing({ bestEffortDeliver: true });
    await world.leap(MINUTE);
    expect((await world.job(id)).state).toMatchObject({ consecutiveErrors: 0, lastDeliveryStatus: "failed" });
    expect((await world.cron.runs(id))[0]?.end?.delivery.status).toBe("failed");
  });

  test("adds nothing to what the channel gets", async () => {
    const { world, add } = await open();
    await add({ channel: "test", to: "carol" });
    await world.leap(MINUTE);
    expect(world.engine.channel().calls.at(-1)?.payload).not.toHaveProperty("slot");
  });
});

describe("the summary for the main conversation", () => {
  const words = async (world: TriggerTestEngine) =>
    (await world.engine.transcript()).filter((line) => line.includes('origin="cron:'));
  test("is silent by default, and its length and prefix can be set", async () => {
    const { world, add } = await open();
    const long = "x".repeat(9_000);
    world.engine.script = () => long;
    await add({});
    await world.leap(MINUTE);
    await world.advance(31_000);
    const [line = ""] = await words(world);
    expect(line).toContain(">Cron: xxx");
    expect(line.length).toBeLessThan(2_200);
    expect(world.engine.requests).toHaveLength(2);
  });
  test("in full mode has a limit", async () => {
    const { world, add } = await open();
    world.engine.script = () => "y".repeat(9_000);
    await add({}, { isolation: { postToMainMode: "full", postToMainPrefix: "Report", postToMainMaxChars: 5_000 } });
    await world.leap(MINUTE);
    await world.advance(31_000);
    const [line = ""] = await words(world);
    expect(line).toContain(">Report: yyy");
    expect(line).toContain(`${"y".repeat(5_000)}…`);
  });
  test("contains the outcome of a failed run", async () => {
    const { world, add } = await open();
    world.engine.script = () => failure("request");
    await add({});
    await world.leap(MINUTE);
    await world.advance(31_000);
    expect((await words(world))[0]).toContain("Cron (error): Inference failed. request error");
  });
  test("wakes the main agent at once with wakeMode now", async () => {
    const { world, add } = await open();
    await add({ deliver: false }, { wakeMode: "now" });
    await world.leap(MINUTE);
    expect(lastText(world.engine.requests.at(-1) as never)).toContain("Cron: answer to");
    expect(world.engine.shown().at(-1)).toContain("Cron: answer to");
  });
});

describe("the summary for a main conversation that does not exist yet", () => {
  const MAIN = "agent:main:main" as SessionKey;
  const job = { name: "job", schedule: every, payload: { kind: "agentTurn", message: "work" } } as const;
  const notes = async (world: TriggerTestEngine, key: SessionKey = MAIN) => {
    const main = await world.store.agentByKey(key);
    const messages = main ? await world.store.messages(main.id, { limit: 100 }) : [];
    return messages.flatMap(({ body }) => ("text" in body && body.text?.startsWith("Cron") ? [body.text] : []));
  };

  test("creates that conversation", async () => {
    const world = await TriggerTestEngine.open();
    await world.cron.add(job);
    await world.leap(MINUTE);
    expect(await notes(world)).toHaveLength(1);
    expect((await world.store.agentByKey(MAIN))?.descriptor).toMatchObject({ type: "user", userId: "owner" });
    await world.leap(MINUTE);
    expect(await notes(world)).toHaveLength(2);
  });

  test("gives it a run with wakeMode now", async () => {
    const world = await TriggerTestEngine.open();
    await world.cron.add({ ...job, payload: { ...job.payload, deliver: false }, wakeMode: "now" });
    await world.leap(MINUTE);
    await world.advance(31_000);
    expect(
      world.engine.requests.map((request) => lastText(request)).filter((text) => text.includes("Cron: ")),
    ).toHaveLength(1);
  });

  test("goes to the profile's main conversation if the job's own conversation was removed", async () => {
    const world = await TriggerTestEngine.open();
    await world.cron.add(job, { profile: "work", sessionKey: "agent:work:test:dm:gone" });
    await world.leap(MINUTE);
    expect(await notes(world, "agent:work:main" as SessionKey)).toHaveLength(1);
    expect(await world.store.agentByKey("agent:work:test:dm:gone" as SessionKey)).toBeUndefined();
  });

  test("is there once after a kill at any commit of the run", async () => {
    for (const when of ["before", "after"] as const) {
      for (let n = 1; ; n++) {
        const world = await TriggerTestEngine.open();
        await world.cron.add(job);
        let commits = 0;
        world.engine.onCommit = () => (++commits === n ? `die-${when}` : "go");
        await world.leap(MINUTE);
        const killed = commits >= n;
        await world.restart();
        await world.advance(10_000);
        expect(await notes(world), `killed ${when} commit ${n}`).toHaveLength(1);
        if (!killed) break;
      }
    }
  });
});

test("the prompt contains the job, the time, and how late the run is", async () => {
  const { world, add } = await open();
  const { id } = await add({});
  await world.leap(MINUTE);
  expect(lastText(world.engine.requests.at(-1) as never)).toContain(
    `[cron:${id} job] work\nCurrent time: 2026-01-05 09:01:00 (UTC)`,
  );
  await world.down(10 * MINUTE + 5_000);
  expect(lastText(world.engine.requests.at(-1) as never)).not.toContain("This run is late");
  await world.cron.update(id, { schedule: { kind: "every", everyMs: 60 * MINUTE } });
  await world.down(90 * MINUTE);
  expect(lastText(world.engine.requests.at(-1) as never)).toContain("This run is late: it was due at");
});

test("model, thinking and time limit apply to the job's runs", async () => {
  const { world, add } = await open();
  const { id } = await add({ model: "a/b", thinking: "high", timeoutSeconds: 5 });
  await world.leap(MINUTE);
  const agent = await world.store.agentByKey(`cron:${id}` as never);
  expect((await world.engine.runs(agent?.id)).at(-1)?.body.wishes).toEqual({
    model: "a/b",
    thinking: "high",
    timeoutSeconds: 5,
  });
});

test("a new session inherits the main conversation's settings and nothing of its own past", () => {
  const state = {
    version: 1,
    createdAt: 1,
    updatedAt: 1,
    tokens: null,
    stats: {},
    providerId: null,
    thinkingLevel: "low",
    totalTokens: 5,
  } as AgentState;
  const main = {
    ...state,
    thinkingLevel: "high",
    skillsSnapshot: { prompt: "s" },
    modelOverride: "m",
    lastHeartbeatText: "t",
  } as AgentState;
  const { sessionEntry, isNewSession } = resolveCronSession({ state, main, nowMs: 9 });
  expect(isNewSession).toBe(true);
  expect(sessionEntry).toMatchObject({
    thinkingLevel: "high",
    skillsSnapshot: { prompt: "s" },
    modelOverride: "m",
    updatedAt: 9,
  });
  expect(sessionEntry.totalTokens).toBeUndefined();
  expect(sessionEntry.lastHeartbeatText).toBeUndefined();
  expect(resolveCronSession({ state, main: undefined, nowMs: 9 }).sessionEntry.thinkingLevel).toBeUndefined();
});

describe("gates", () => {
  const gate = { kind: "http", url: "http://127.0.0.1/" } as const;
  const open2 = (check: () => Promise<GateVerdict>) => open({ gates: { check } });
  test("a gate that does not pass skips the run with its reason", async () => {
    const { world, add } = await open2(async () => ({ pass: false, reason: "no mail" }));
    const { id } = await add({}, { gate });
    const calls = world.engine.requests.length;
    await world.leap(MINUTE);
    expect((await world.slots(id)).map(({ reason }) => reason)).toEqual(["gate: no mail"]);
    expect(world.engine.requests).toHaveLength(calls);
  });
  test("the output of a gate that passes is in the prompt", async () => {
    const { world, add } = await open2(async () => ({ pass: true, output: "2 mails" }));
    await add({}, { gate });
    await world.leap(MINUTE);
    expect(lastText(world.engine.requests.at(-1) as never)).toContain("\n\n[Gate output]\n2 mails");
  });
  test("without a gate runner no gate passes", async () => {
    const { world, add } = await open();
    const { id } = await add({}, { gate });
    await world.leap(MINUTE);
    expect((await world.slots(id))[0]?.reason).toBe("gate: gates are not allowed here");
  });
  test("a slow gate does not delay other jobs", async () => {
    const { promise, resolve } = Promise.withResolvers<GateVerdict>();
    const { world, add } = await open2(() => promise);
    const slow = await add({}, { gate });
    const quick = await add({});
    await world.leap(MINUTE);
    await world.leap(MINUTE);
    expect(await world.slots(quick.id)).toHaveLength(2);
    expect(await world.slots(slow.id)).toHaveLength(0);
    resolve({ pass: true, output: "" });
    await world.engine.settle();
    expect((await world.slots(slow.id)).map(({ dueAt }) => dueAt)[0]).toBe(START + MINUTE);
  });
});

test("an active run skips the next due time, or queues it", async () => {
  for (const overlap of ["skip", "queue"] as const) {
    const { world, add } = await open();
    const { promise, resolve } = Promise.withResolvers<string>();
    world.engine.script = () => promise;
    const { id } = await add({}, { overlap });
    await world.leap(MINUTE);
    await world.leap(MINUTE);
    resolve("done");
    await world.engine.settle();
    expect((await world.slots(id)).map(({ status, reason }) => reason ?? status)).toEqual([
      "fired",
      overlap === "skip" ? "overlap" : "fired",
    ]);
  }
});

test("an active run of the job's own agent does not hold back a job that now speaks to the main conversation", async () => {
  const { world, add } = await open();
  const { promise, resolve } = Promise.withResolvers<string>();
  world.engine.script = ({ request }) => (lastText(request).includes("work") ? promise : "ok");
  const { id } = await add({}, { overlap: "skip" });
  await world.leap(MINUTE);
  await world.cron.update(id, { sessionTarget: "main", payload: { kind: "systemEvent", text: "look" } });
  await world.leap(MINUTE);
  expect((await world.slots(id)).map(({ status, reason }) => reason ?? status)).toEqual(["fired", "fired"]);
  resolve("done");
  await world.engine.settle();
});

test.each([
  ["within the time that counts as on time is skipped during a run", 30 * 60, "overlap"],
  ["later than that waits for its turn", 60, "fired"],
])("a missed due time of a job that wants all of them, %s", async (_, missedGraceSeconds, second) => {
  const { world, add } = await open({ settings: { cron: { missedGraceSeconds } } });
  const { promise, resolve } = Promise.withResolvers<string>();
  world.engine.script = () => promise;
  const { id } = await add({}, { overlap: "skip", missed: "all" });
  await world.leap(MINUTE);
  // Five minutes late: the default counts one minute as on time.
  await world.leap(6 * MINUTE);
  expect((await world.slots(id)).map(({ status, reason }) => reason ?? status).slice(0, 2)).toEqual(["fired", second]);
  resolve("done");
  await world.engine.settle();
});

test("a clock that jumps by an hour fires nothing twice and loses nothing", async () => {
  const { world, add } = await open();
  const { id } = await add({}, { missed: "all" });
  for (const jump of [MINUTE, 60 * MINUTE, -60 * MINUTE, MINUTE, MINUTE, 58 * MINUTE, MINUTE]) await world.leap(jump);
  const dueIn = async (revision: number) =>
    (await world.slots(id)).filter((slot) => slot.revision === revision).map(({ dueAt }) => (dueAt - START) / MINUTE);
  const minutes = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, n) => from + n);
  expect(await dueIn(1)).toEqual(minutes(1, 61));
  // Set back by an hour, the interval continues from then.
  expect(await dueIn(2)).toEqual(minutes(2, 62));
  expect(await world.slots(id)).toHaveLength(122);
});

test("a stored job with an invalid schedule is turned off, with a notice to its person", async () => {
  const { world, add } = await open();
  const { id } = await add({});
  const job = await world.job(id);
  const broken = { ...job, schedule: { kind: "cron", expr: "nonsense" }, state: { nextRunAtMs: START } } as const;
  await world.store.commit({ id: "by-hand" as never, site: "t", at: START, ops: [{ op: "job.put", job: broken }] });
  await world.leap(MINUTE);
  expect(await world.job(id)).toMatchObject({ enabled: false });
  expect((await world.job(id)).state.disabledReason).toContain("Invalid cron schedule: nonsense");
  const told = world.engine.channel().calls.map(({ target, payload }) => `${target.to}: ${payload.text}`);
  expect(told.filter((text) => text.startsWith('ann: ⚠️ The cron job "job" was turned off: Invalid cron'))).toHaveLength(
    1,
  );
  // The conversation remembers it, and no heartbeat repeats it.
  expect((await world.engine.transcript()).filter((line) => line.includes("was turned off"))).toHaveLength(1);
});

test("a message that was dropped with its queue closes its slot", async () => {
  const { world, add } = await open();
  world.engine.script = () => new Promise<string>(() => {});
  const { id } = await add({}, { overlap: "queue" });
  await world.leap(MINUTE);
  await world.leap(MINUTE);
  world.crash();
  world.clock.jump(1_000);
  world.engine.script = () => "x";
  world.engine.options = { ...world.engine.options, settings: { runs: { restore: "discard" } } };
  await world.restart();
  await world.advance(31_000);
  expect((await world.slots(id)).map(({ end }) => end?.status)).toEqual(["error", "dropped"]);
  expect((await world.job(id)).state.runningAtMs).toBeUndefined();
});
