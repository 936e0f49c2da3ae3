/** A one-time job that ends without an answer tells its person, with its text, exactly once (M46). */
import { describe, expect, it } from "vitest";
import { failure, lastText, type Script, stall } from "../../../test/kit/model.ts";
import { dieAt, type OnCommit } from "../../../test/kit/store.ts";
import { TriggerTestEngine } from "./triggers.test-kit.ts";

const MINUTE = 60_000;
const ALL_TRIES_MS = 71_000;
const BY = { person: "owner", surface: "cli" };
const EVENT = { payload: { kind: "systemEvent", text: "Tea is ready." } } as const;
const TURN = { payload: { kind: "agentTurn", message: "Tea is ready." } } as const;

/** Says "busy" for ever; the rest is repeated. */
const script: Script = (call) =>
  lastText(call.request) === "busy" ? stall(call, new Promise(() => {})) : `answer to ${lastText(call.request)}`;

/** An engine in which a person has asked for one reminder in ten minutes. */
async function open(more: object = EVENT, options: Parameters<typeof TriggerTestEngine.open>[0] = {}) {
  const world = await TriggerTestEngine.open({ script, ...options });
  await world.engine.tell("hello", { name: "bob" });
  const agentId = await world.engine.agentId("bob");
  const maker = { sessionKey: (await world.engine.agent(agentId)).sessionKey };
  const job = await world.cron.add({ name: "tea", schedule: { kind: "at", inMs: 10 * MINUTE }, ...more }, maker);
  return { world, agentId, id: job.id };
}

/** The messages that the person got after the answer to their first one. */
const shown = ({ engine }: TriggerTestEngine) => engine.shown().slice(1);

/** Nothing more comes, whatever follows. */
async function shownInTheEnd(world: TriggerTestEngine): Promise<readonly string[]> {
  await world.advance(MINUTE);
  await world.restart();
  await world.advance(31 * MINUTE);
  return shown(world);
}

describe("a late one-time job", () => {
  it.each([
    [{ missed: "skip" }, "no program was running then."],
    [{ maxLatenessMs: MINUTE }, "it would have been too late."],
  ])("with %j is not run, and its person reads why", async (policy, why) => {
    const { world, id } = await open({ ...EVENT, ...policy });
    await world.down(20 * MINUTE);
    expect(await shownInTheEnd(world)).toEqual([
      expect.stringMatching(
        /^⚠️ The cron job "tea" did not run at \d{4}-\d\d-\d\d \d\d:\d\d.*\nIts text: Tea is ready\.$/su,
      ),
    ]);
    expect(shown(world)[0]).toContain(why);
    expect(world.engine.channel().calls.at(-1)?.target.to).toBe("bob");
    expect((await world.job(id)).enabled).toBe(false);
  });

  it.each(["before", "after"] as const)(
    "is reported once if the process dies %s the commit of its notice",
    async (moment) => {
      for (const site of ["accept", "record", "outbox.sending", "outbox.sent"] as const) {
        const { world } = await open({ ...EVENT, missed: "skip" });
        world.crash();
        world.clock.jump(20 * MINUTE);
        await world.engine.retire();
        world.engine.onCommit = dieAt(site, moment);
        await world.boot();
        await world.advance(MINUTE);
        expect([site, await shownInTheEnd(world)]).toEqual([site, [expect.stringContaining("did not run")]]);
      }
    },
  );

  it("reports a gate that does not pass", async () => {
    const gates = { check: async () => ({ pass: false, reason: "exit code 1" }) as const };
    const { world } = await open({ ...EVENT, gate: { kind: "http", url: "https://example.com" } }, { gates });
    await world.leap(10 * MINUTE);
    expect(await shownInTheEnd(world)).toEqual([expect.stringContaining("gate: exit code 1.")]);
  });
});

it("does not report one skipped time of a repeated job", async () => {
  const { world } = await open({ ...EVENT, schedule: { kind: "every", everyMs: 10 * MINUTE }, missed: "skip" });
  await world.down(15 * MINUTE);
  expect(shown(world)).toEqual([]);
});

/** Makes every commit fail that takes a trigger's message. */
const poison: OnCommit = ({ site }) => {
  if (site === "take") throw new TypeError("no colour");
  return "go";
};

describe("a one-time job whose message", () => {
  it.each([
    ["an event", EVENT],
    ["a turn", TURN],
  ])("fails after its tries tells its person once: %s", async (_, job) => {
    const { world, id } = await open(job);
    world.engine.onCommit = poison;
    await world.leap(10 * MINUTE);
    await world.advance(ALL_TRIES_MS);
    expect(await shownInTheEnd(world)).toEqual(['⚠️ The cron job "tea" failed: no colour.\nIts text: Tea is ready.']);
    const [slot] = await world.slots(id);
    expect(slot?.end).toMatchObject({ status: "error", error: "no colour." });
    expect((await world.job(id)).state).toMatchObject({ lastStatus: "error", consecutiveErrors: 1 });
  });

  it.each(["before", "after"] as const)("fails tells it once if the process dies %s a commit", async (moment) => {
    for (const site of ["message.failed", "record"] as const) {
      const { world } = await open();
      const dies = dieAt(site, moment);
      world.engine.onCommit = (change, count) => (change.site === site ? dies(change, count) : poison(change, count));
      await world.leap(10 * MINUTE);
      await world.advance(ALL_TRIES_MS);
      await world.engine.retire();
      world.engine.onCommit = poison;
      await world.boot();
      await world.advance(ALL_TRIES_MS);
      expect([site, await shownInTheEnd(world)]).toEqual([site, [expect.stringContaining("failed: no colour")]]);
    }
  });

  it("is dropped by someone tells the person who made it", async () => {
    const { world, agentId, id } = await open();
    await world.engine.tell("busy", { name: "bob" });
    await world.leap(10 * MINUTE);
    const [waiting] = await world.store.waiting(agentId, { limit: 1 });
    await world.engine.system.dropMessage({ agentId, seq: waiting?.seq ?? 0, by: BY });
    await world.engine.tell("/stop", { name: "bob" });
    await world.engine.send({ kind: "stop" }, { name: "bob" });
    await world.engine.settle();
    expect((await shownInTheEnd(world)).filter((text) => text.includes("tea"))).toEqual([
      '⚠️ The cron job "tea" did not run: dropped by owner.\nIts text: Tea is ready.',
    ]);
    expect((await world.job(id)).enabled).toBe(false);
  });

  it("is discarded at a restart tells its person", async () => {
    const { world } = await open(EVENT, { settings: { runs: { restore: "discard" } } });
    await world.engine.tell("busy", { name: "bob" });
    await world.leap(10 * MINUTE);
    await world.advance(1_000);
    await world.restart();
    expect((await shownInTheEnd(world)).filter((text) => text.includes("tea"))).toEqual([
      '⚠️ The cron job "tea" did not run: restore: discard.\nIts text: Tea is ready.',
    ]);
  });

  it("waits in an agent that is stopped tells its person", async () => {
    const { world, agentId } = await open();
    await world.engine.tell("busy", { name: "bob" });
    await world.leap(10 * MINUTE);
    await world.engine.system.lifecycle.stop(agentId);
    await world.engine.settle();
    expect((await shownInTheEnd(world)).filter((text) => text.includes("tea"))).toEqual([
      expect.stringMatching(/^⚠️ The cron job "tea" did not run: the agent was stopped/su),
    ]);
  });

  it("waits for the next heartbeat and fails tells its person", async () => {
    const { world } = await open({ ...EVENT, wakeMode: "next-heartbeat" });
    world.engine.onCommit = ({ site }) => {
      if (site === "record" && shown(world).length === 0) throw new TypeError("no colour");
      return "go";
    };
    await world.leap(10 * MINUTE);
    await world.advance(ALL_TRIES_MS);
    world.engine.onCommit = () => "go";
    expect(await shownInTheEnd(world)).toEqual([expect.stringContaining("Its text: Tea is ready.")]);
  });
});

describe("a one-time job whose run", () => {
  it.each([
    ["is aborted", "did not finish: ", EVENT],
    ["is aborted in its own agent", "did not finish: ", TURN],
  ])("%s tells its person once", async (_, words, job) => {
    const { world } = await open(job);
    world.engine.script = (call) => stall(call, new Promise(() => {}));
    await world.leap(10 * MINUTE);
    const runs = (await world.store.agents({ limit: 10 })).flatMap(({ runId }) => runId ?? []);
    for (const run of runs) await world.engine.system.runs.abort(run, "person");
    world.engine.script = () => "Your tea was stopped.";
    await world.engine.settle();
    const told = (await shownInTheEnd(world)).filter((text) => text.includes("tea"));
    expect(told).toEqual([expect.stringContaining(`The cron job "tea" ${words}`)]);
  });

  it("fails tells its person once, with its words", async () => {
    const { world } = await open(TURN);
    world.engine.script = () => failure("request");
    await world.leap(10 * MINUTE);
    world.engine.script = script;
    const told = await shownInTheEnd(world);
    expect(told.filter((text) => text.includes('The cron job "tea" failed'))).toHaveLength(1);
    expect(told.at(-1)).toContain("Its text: Tea is ready.");
  });
});

it("sends a notice that a restart discards before it was recorded", async () => {
  const { world } = await open({ ...EVENT, missed: "skip" }, { settings: { runs: { restore: "discard" } } });
  world.crash();
  world.clock.jump(20 * MINUTE);
  await world.engine.retire();
  world.engine.onCommit = dieAt("record", "before");
  await world.boot();
  await world.advance(MINUTE);
  expect(await shownInTheEnd(world)).toEqual([expect.stringContaining("did not run")]);
});
