/** How open runs survive crashes (M13): no kill from outside fails a run, and a run that kills its process is found. */
import { describe, expect, it } from "vitest";
import { TestEngine } from "../../../../test/kit/engine.ts";
import { gate } from "../../../../test/kit/gate.ts";
import { stall } from "../../../../test/kit/model.ts";
import { dieAt, type OnCommit } from "../../../../test/kit/store.ts";
import { TimeoutError } from "../../../core/errors.ts";
import type { ChangeId, RunId } from "../../../core/ids.ts";
import { timedEngine, untilDeath, untilPeace } from "./trials.test-kit.ts";

const MINUTES = 60_000;

/** This many people write the same text at once. Returns their names. */
async function people(engine: TestEngine, count: number, text: string): Promise<readonly string[]> {
  const names = Array.from({ length: count }, (_, n) => `p${n}`);
  for (const name of names) await engine.say(text, { name });
  await engine.settle();
  return names;
}

const states = (engine: TestEngine, names: readonly string[]) =>
  Promise.all(names.map(async (name) => engine.states(await engine.agentId(name))));

describe("kills from outside", () => {
  it("fail no run, and every message gets its answer when they end", async () => {
    const engine = await timedEngine();
    const people = ["100", "5000", "60000"].flatMap((ms) => [`a${ms}`, `b${ms}`].map((name) => ({ name, ms })));
    for (const { name, ms } of people) await engine.tell(`takes ${ms}`, { name });
    for (let kill = 0; kill < 40; kill++) {
      await engine.advance(1_000 + ((kill * 700) % 2_000));
      await engine.restart();
    }
    await engine.advance(90_000);
    for (const { name } of people) {
      const agentId = await engine.agentId(name);
      expect([name, await engine.states(agentId)]).toEqual([name, ["answered"]]);
    }
    expect(engine.shown()).toHaveLength(people.length);
  });

  it("cost no wait and no further commit the first time", async () => {
    const engine = await timedEngine();
    await engine.tell("takes 5000");
    await engine.advance(1_000);
    await engine.restart();
    expect(engine.requests).toHaveLength(2);
    const before = engine.commits.length;
    await engine.advance(5_000);
    expect(engine.shown()).toEqual(["answer to takes 5000"]);
    const sites = engine.commits.slice(before).map(({ site }) => site);
    expect(sites.filter((site) => site.startsWith("trial"))).toEqual([]);
  });

  it("do not delay a run that was open at two of them, nor other work", async () => {
    const engine = await timedEngine();
    await engine.tell("takes 5000");
    await engine.restart();
    await engine.restart();
    expect(engine.requests).toHaveLength(3);
    await engine.tell("hello", { name: "bob" });
    expect(engine.shown()).toEqual(["answer to hello"]);
    await engine.advance(5_000);
    expect(await engine.states()).toEqual(["answered"]);
  });

  it("every 8 s still let 16 open runs be answered", async () => {
    const engine = await timedEngine();
    const names = await people(engine, 16, "takes 5000");
    await engine.restart();
    await engine.restart();
    for (let kill = 0; kill < 20; kill++) {
      await engine.advance(8_000);
      await engine.restart();
    }
    expect(await states(engine, names)).toEqual(names.map(() => ["answered"]));
  });

  it("every 3 s with steps of 60 s fail no run", async () => {
    const engine = await timedEngine();
    const names = await people(engine, 5, "takes 60000");
    for (let kill = 0; kill < 60; kill++) {
      await engine.advance(3_000);
      await engine.restart();
    }
    // Each of them may have to be tried alone, after a pause.
    await engine.advance(12 * MINUTES);
    expect(await states(engine, names)).toEqual(names.map(() => ["answered"]));
  });

  it("do not interrupt a long step that outlives its trial", async () => {
    const engine = await timedEngine();
    await engine.tell("takes 60000");
    await engine.restart();
    await engine.restart();
    expect(engine.requests).toHaveLength(3);
    await engine.advance(10_000);
    expect((await engine.runs())[0]?.body.trial).toEqual({ deaths: [], survived: 1 });
    await engine.advance(50_000);
    expect(await engine.states()).toEqual(["answered"]);
    expect(engine.requests).toHaveLength(3);
  });

  it("during the pause strike out the death before", async () => {
    const engine = await timedEngine();
    await engine.tell("takes 60000");
    await engine.restart();
    await engine.restart();
    for (let times = 0; times < 6; times++) {
      // From outside: once during the trial, once during the pause that follows.
      await engine.advance(5_000);
      expect((await engine.runs())[0]?.body.trial?.on).toMatchObject({ alone: true });
      await engine.restart();
      expect((await engine.runs())[0]?.body.trial?.deaths).toHaveLength(1);
      await engine.advance(3_000);
      await engine.restart();
    }
    await engine.advance(90_000);
    expect(await engine.states()).toEqual(["answered"]);
  });

  it.each([12_000, 15_000, 19_000, 45_000, 100_000])("every %i ms fail no run", async (ms) => {
    const engine = await timedEngine();
    for (const name of ["ann", "bob", "eve"]) await engine.tell("takes 300000", { name });
    for (let kill = 0; kill < 25; kill++) {
      await engine.advance(ms);
      await engine.restart();
    }
    // Each of them may have to be tried alone, for as long as its step takes.
    await engine.advance(25 * MINUTES);
    for (const name of ["ann", "bob", "eve"])
      expect(await engine.states(await engine.agentId(name))).toEqual(["answered"]);
  });
});

describe("a run that kills its process", () => {
  it("fails after three deaths alone on trial, and its person gets a message", async () => {
    const engine = await timedEngine();
    await engine.tell("kills 0");
    const lives = await untilPeace(engine, 5 * MINUTES);
    // Two crashes make it a suspect. It is tried at once, and after pauses of 10 s and two minutes.
    expect(lives.map((ms) => Math.round(ms / 10_000) * 10)).toEqual([0, 0, 0, 10, 120]);
    expect(await engine.runs()).toMatchObject([
      { state: "ended", outcome: "error", body: { error: { kind: "attempts" } } },
    ]);
    expect(await engine.states()).toEqual(["failed"]);
    expect(engine.shown()).toEqual([
      expect.stringContaining("stopped three times while only this run was being tried"),
    ]);
    expect(engine.channel().calls[0]?.payload.isError).toBe(true);
    expect(engine.requests).toHaveLength(5);
  });

  it("is found among others, and they get their answers", async () => {
    const engine = await timedEngine();
    const names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    for (const name of names) await engine.say("takes 4000", { name });
    await engine.tell("kills 1000", { name: "poison" });
    const lives = await untilPeace(engine, 5 * MINUTES);
    // Two crashes, a trial of nine, then 4, 2 and 1 at most, then three deaths alone. One of these may be the last halving.
    expect(lives.length).toBeLessThanOrEqual(2 + 4 + 3);
    for (const name of names)
      expect([name, await engine.states(await engine.agentId(name))]).toEqual([name, ["answered"]]);
    expect(await engine.states(await engine.agentId("poison"))).toEqual(["failed"]);
    const [run] = await engine.runs(await engine.agentId("poison"));
    expect(run?.body.error?.kind).toBe("attempts");
  });

  it("is found within eight deaths if it kills after 50 ms among 30", async () => {
    const engine = await timedEngine();
    const names = await people(engine, 29, "takes 4000");
    await engine.say("kills 50", { name: "poison" });
    await engine.settle();
    const lives = await untilPeace(engine, 5 * MINUTES);
    // Two crashes, trials of 15, 7 and 3, three deaths alone.
    expect(lives.length).toBeLessThanOrEqual(2 + 3 + 3);
    expect(await states(engine, [...names, "poison"])).toEqual([...names.map(() => ["answered"]), ["failed"]]);
  });

  it("is tried alone when long runs beside it have ended or made a step", async () => {
    const engine = await timedEngine();
    await engine.tell("kills 0", { name: "poison" });
    const lives: (number | undefined)[] = [];
    // Each life begins another long run, which is resumed for the first time in the next one.
    for (let life = 1; life <= 5; life++) {
      if (!engine.alive) await engine.restart();
      await engine.tell("takes 15000", { name: `p${life}` });
      lives.push(engine.alive ? await untilDeath(engine, 30_000) : 0);
    }
    lives.push(...(await untilPeace(engine, 5 * MINUTES)));
    expect(lives.length).toBeLessThanOrEqual(6);
    expect(await states(engine, ["poison"])).toEqual([["failed"]]);
    expect(await states(engine, ["p1", "p2", "p3", "p4", "p5"])).toEqual(Array.from({ length: 5 }, () => ["answered"]));
  });

  it("fails each time its message is sent again, and never keeps others from being answered", async () => {
    const engine = await timedEngine();
    const names = await people(engine, 4, "takes 4000");
    for (let times = 1; times <= 3; times++) {
      await engine.tell("kills 0", { name: "poison" });
      await untilPeace(engine, 5 * MINUTES);
      await engine.tell("hello", { name: `after ${times}` });
      expect(await states(engine, [`after ${times}`])).toEqual([["answered"]]);
    }
    expect(await states(engine, ["poison"])).toEqual([["failed", "failed", "failed"]]);
    expect(await states(engine, names)).toEqual(names.map(() => ["answered"]));
  });

  it("fails for each of three messages in a row, and for each of three people at once", async () => {
    const engine = await timedEngine();
    for (const name of ["one", "two", "two", "two", "three"]) await engine.say("kills 10", { name });
    const names = await people(engine, 4, "takes 4000");
    await untilPeace(engine, 10 * MINUTES);
    const failed = ["failed"];
    expect(await states(engine, ["one", "two", "three"])).toEqual([failed, ["failed", "failed", "failed"], failed]);
    expect(await states(engine, names)).toEqual(names.map(() => ["answered"]));
  });

  it("is found if it kills later than a trial lasts", async () => {
    const engine = await timedEngine();
    await engine.say("takes 20000", { name: "ann" });
    await engine.tell("kills 45000", { name: "poison" });
    await untilPeace(engine, 10 * MINUTES);
    expect(await engine.states(await engine.agentId("ann"))).toEqual(["answered"]);
    expect(await engine.states(await engine.agentId("poison"))).toEqual(["failed"]);
  });

  it("does not keep new messages of others from being answered while it is tried", async () => {
    const engine = await timedEngine();
    await engine.tell("kills 0", { name: "poison" });
    for (let n = 1; n <= 4; n++) {
      if (!engine.alive) await engine.restart();
      await engine.tell(`hello ${n}`, { name: "ann" });
      if (!engine.alive) await engine.restart();
      await untilDeath(engine, 12_000);
    }
    expect(await engine.states(await engine.agentId("ann"))).toEqual(["answered", "answered", "answered", "answered"]);
  });

  it("fails beside another one, each by its own deaths", async () => {
    const engine = await timedEngine();
    for (const name of ["one", "two"]) await engine.say("kills 100", { name });
    await engine.say("takes 3000", { name: "ann" });
    await untilPeace(engine, 10 * MINUTES);
    for (const name of ["one", "two"]) expect(await engine.states(await engine.agentId(name))).toEqual(["failed"]);
    expect(await engine.states(await engine.agentId("ann"))).toEqual(["answered"]);
  });

  it("starts again at nothing with every committed step", async () => {
    const engine = await timedEngine();
    await engine.tell("kills 0");
    for (let times = 0; times < 2; times++) {
      await engine.restart();
      await untilDeath(engine, 20_000);
    }
    await engine.restart();
    expect((await engine.runs())[0]?.body.trial?.deaths).toHaveLength(1);
    engine.script = ({ request }) =>
      request.messages.at(-1)?.role === "tool" ? new Promise<never>(() => {}) : { call: [{ name: "missing" }] };
    await engine.advance(10_000);
    expect((await engine.runs())[0]).toMatchObject({ state: "open", attempt: 1 });
    expect((await engine.runs())[0]?.body.trial).toBeUndefined();
  });
});

describe("a lone trial", () => {
  /** `slow` is alone on trial for as long as it takes, and `first` was open at one crash. */
  async function lone(): Promise<TestEngine> {
    const engine = await timedEngine();
    await engine.tell("takes 60000", { name: "slow" });
    await engine.restart();
    await engine.tell("takes 2000", { name: "first" });
    await engine.restart();
    const [run] = await engine.runs(await engine.agentId("slow"));
    expect(run?.body.trial?.on).toMatchObject({ of: 1, alone: true });
    return engine;
  }

  it("delays runs that are resumed for the first time until it ends, and no new message", async () => {
    const engine = await lone();
    await engine.tell("hello", { name: "new" });
    expect(await states(engine, ["new"])).toEqual([["answered"]]);
    await engine.advance(9_900);
    expect(await states(engine, ["first"])).toEqual([["taken"]]);
    await engine.advance(2_200);
    expect(await states(engine, ["first"])).toEqual([["answered"]]);
    await engine.advance(48_000);
    expect(await states(engine, ["slow"])).toEqual([["answered"]]);
  });

  it("does not make a run a suspect that waits for its end", async () => {
    const engine = await lone();
    await engine.restart();
    // In the pause after the death nothing is tried; the other run is resumed for the first time.
    const [first] = await engine.runs(await engine.agentId("first"));
    expect([first?.attempt, first?.body.trial]).toEqual([2, undefined]);
    await engine.tell("hello", { name: "new" });
    await engine.advance(2_000);
    expect(await states(engine, ["first", "new"])).toEqual([["answered"], ["answered"]]);
  });
});

describe("a crash around a commit of a trial", () => {
  const sites = ["resume", "trial.survived", "trial.death", "trial.pause-over"] as const;
  const cases = sites.flatMap((site) => (["before", "after"] as const).map((moment) => [moment, site] as const));

  it.each(cases)("%s %s fails no innocent run and saves no killer", async (moment, site) => {
    const engine = await timedEngine();
    await engine.say("takes 30000", { name: "ann" });
    await engine.tell("kills 500", { name: "poison" });
    let hit = false;
    const armed = dieAt(site, moment);
    const die: OnCommit = (change, nth) => {
      const outcome = armed(change, nth);
      hit ||= outcome !== "go";
      return outcome;
    };
    // Each site is reached in one of the first lives.
    for (let life = 0; life < 8 && !hit; life++) {
      engine.crash();
      await engine.retire();
      engine.onCommit = die;
      await engine.boot();
      await untilDeath(engine, 30_000);
    }
    expect(hit).toBe(true);
    await untilPeace(engine, 10 * MINUTES);
    expect(await engine.states(await engine.agentId("ann"))).toEqual(["answered"]);
    expect(await engine.states(await engine.agentId("poison"))).toEqual(["failed"]);
  });
});

describe("many suspects", () => {
  it("are tried in two halves, and the second half waits for the end of the first trial", async () => {
    const engine = await timedEngine();
    const names = await people(engine, 6, "takes 4000");
    await engine.restart();
    await engine.restart();
    const tried = async (): Promise<number> => {
      const runs = await Promise.all(names.map(async (name) => (await engine.runs(await engine.agentId(name)))[0]));
      return runs.filter((run) => run?.body.trial?.on).length;
    };
    expect([engine.requests.length, await tried()]).toEqual([15, 3]);
    expect((await engine.system.diagnose()).busy.filter(({ run }) => run?.waitsForTrial)).toHaveLength(3);
    await engine.tell("hello", { name: "new" });
    expect(await states(engine, ["new"])).toEqual([["answered"]]);
    await engine.advance(3_900);
    expect(engine.requests).toHaveLength(16);
    await engine.advance(100);
    expect([engine.requests.length, await tried()]).toEqual([19, 3]);
    await engine.advance(4_000);
    expect(await states(engine, names)).toEqual(names.map(() => ["answered"]));
  });

  it("are logged once for each start, with their number", async () => {
    const engine = await timedEngine();
    const names = await people(engine, 6, "takes 60000");
    const waits = () => engine.logged("warn").filter((line) => line.includes("wait for their trial")).length;
    await engine.restart();
    expect(waits()).toBe(0);
    for (let start = 1; start <= 3; start++) {
      await engine.restart();
      for (const name of names) await engine.tell("more", { name });
      await engine.advance(2_000);
      expect(waits()).toBe(start);
    }
  });

  it("run together, as many at once as the lanes allow", async () => {
    const engine = await timedEngine({ settings: { lanes: { main: 8, subagent: 1, cron: 1, nested: 1 } } });
    const names = Array.from({ length: 60 }, (_, n) => `p${n}`);
    for (const name of names) await engine.say("takes 2000", { name });
    await engine.settle();
    await engine.restart();
    await engine.restart();
    // Eight at a time for two seconds each, in two trials.
    await engine.advance((names.length / 8 + 3) * 2_000);
    for (const name of names) expect(await engine.states(await engine.agentId(name))).toEqual(["answered"]);
  });
});

describe("an interruption that is not a death", () => {
  it("is a drain in the middle of a trial, even if a tool does not end", async () => {
    const hold = gate<string>();
    const engine = await TestEngine.open({
      script: ({ request }) => (request.messages.at(-1)?.role === "tool" ? "at last" : { call: [{ name: "work" }] }),
      tools: { work: { execute: () => hold.promise } },
    });
    await engine.tell("long work");
    await engine.restart();
    await engine.restart();
    for (let times = 0; times < 5; times++) {
      await engine.advance(2_000);
      expect((await engine.runs())[0]?.body.trial?.on).toBeDefined();
      void engine.system.drain();
      await engine.settle();
      // The process is ended while the tool still runs.
      expect((await engine.runs())[0]?.body.trial).toMatchObject({ deaths: [] });
      expect((await engine.runs())[0]?.body.trial?.on).toBeUndefined();
      await engine.restart();
    }
    hold.open("done");
    await engine.advance(30_000);
    expect(engine.shown()).toEqual(["at last"]);
  });

  it("is a drain that pauses the run", async () => {
    const hold = gate<string>();
    const engine = await TestEngine.open({ script: (call) => stall(call, hold.promise) });
    await engine.tell("long work");
    for (let times = 0; times < 5; times++) {
      await engine.drain();
      expect(await engine.runs()).toMatchObject([{ state: "open", attempt: 1 }]);
      await engine.restart();
    }
    hold.open("at last");
    await engine.settle();
    expect(engine.shown()).toEqual(["at last"]);
  });

  it("is a lost lease", async () => {
    const engine = await TestEngine.open({
      script: (call) => stall(call, new Promise(() => {})),
      system: { leaseMs: 8_000 },
    });
    await engine.tell("long work");
    for (let times = 1; times <= 4; times++) {
      const { node } = engine.system;
      engine.onCommit = (change) => (change.site === "node.renew" ? "full" : "go");
      await engine.advance(12_000);
      engine.onCommit = () => "go";
      await engine.advance(5_000);
      expect(engine.system.node).toBeGreaterThan(node);
      expect(await engine.runs()).toMatchObject([{ state: "open", attempt: 1 }]);
    }
    engine.script = () => "at last";
    await engine.restart();
    expect(engine.shown()).toEqual(["at last"]);
  });

  it("is an unreadable store", async () => {
    const engine = await TestEngine.open();
    const { linesBack } = engine.store;
    let sick = 10;
    (engine.store as { linesBack: typeof linesBack }).linesBack = async (id, page) => {
      if (sick-- > 0) throw new TimeoutError("The store does not answer.");
      return linesBack(id, page);
    };
    await engine.tell("hello");
    await engine.advance(10 * MINUTES);
    expect(engine.shown()).toEqual(["answer to hello"]);
    expect(await engine.runs()).toMatchObject([{ outcome: "ok", attempt: 1 }]);
  });

  it("is a refused commit", async () => {
    const engine = await TestEngine.open();
    let sick = true;
    engine.onCommit = (change) => (sick && change.site === "rest" ? "full" : "go");
    await engine.tell("hello");
    await engine.advance(10 * MINUTES);
    expect(await engine.states()).toEqual(["taken"]);
    sick = false;
    await engine.advance(60_000);
    expect(engine.shown()).toEqual(["answer to hello"]);
  });
});

describe("a fault inside the program", () => {
  it("fails the run that always causes one, with a message", async () => {
    const engine = await TestEngine.open({
      system: {
        resolveModel: () => {
          throw new TypeError("no such profile");
        },
      },
    });
    await engine.tell("hello");
    await engine.advance(5 * MINUTES);
    expect(await engine.states()).toEqual(["failed"]);
    expect(engine.shown()).toEqual([expect.stringContaining("caused an error inside the program three times")]);
    expect(engine.logged("error").length).toBeGreaterThan(0);
  });
});

describe("a silent node on a shared store", () => {
  const shared = () =>
    TestEngine.open({ script: (call) => stall(call, new Promise(() => {})), system: { leaseMs: 8_000 } });

  /** Another node takes over after the lease, and cannot know whether the silent one is dead. */
  async function silence(engine: TestEngine, ms: number): Promise<number> {
    const { node } = engine.system;
    engine.crash();
    engine.onCommit = () => "go";
    await engine.boot();
    await engine.advance(ms);
    return node;
  }

  /** A run is on trial, alone, on a node that then falls silent. Returns the node's number. */
  async function silentOnTrial(engine: TestEngine): Promise<number> {
    await engine.tell("hangs");
    await silence(engine, 12_000);
    await silence(engine, 15_000);
    expect((await engine.runs())[0]?.body.trial?.on).toMatchObject({ node: engine.system.node, alone: true });
    return silence(engine, 12_000);
  }

  it("counts after four leases of silence", async () => {
    const engine = await shared();
    const silent = await silentOnTrial(engine);
    expect((await engine.runs())[0]?.body.trial).toMatchObject({ deaths: [], on: { node: silent } });
    expect(engine.requests).toHaveLength(3);
    await engine.advance(35_000);
    expect((await engine.runs())[0]?.body.trial?.deaths).toEqual([silent]);
  });

  it("counts at once if it has left", async () => {
    const engine = await shared();
    const node = await silentOnTrial(engine);
    const ops = [{ op: "node.leave", node } as const];
    await engine.store.commit({ id: "dead" as ChangeId, site: "node.leave", at: engine.clock.now(), ops });
    await engine.advance(3_000);
    expect((await engine.runs())[0]?.body.trial?.deaths).toEqual([node]);
  });

  it.each(["renews its lease", "joins again"])("does not count if it %s", async (sign) => {
    const engine = await shared();
    const was = await silentOnTrial(engine);
    engine.script = () => "at last";
    const at = engine.clock.now();
    const leaseUntil = at + 8_000;
    // The node renews by its own clock, which may have been paused.
    const renews = { site: "node.renew", at: at - 20_000, ops: [{ op: "node.renew", node: was, leaseUntil }] } as const;
    const joins = { site: "node.join", at, ops: [{ op: "node.join", name: "returned", leaseUntil, was }] } as const;
    const result = await engine.store.commit({ id: "sign" as ChangeId, ...(sign === "joins again" ? joins : renews) });
    expect(result.ok).toBe(true);
    await engine.advance(10_000);
    expect([engine.shown(), await engine.states()]).toEqual([["at last"], ["answered"]]);
  });

  it("no longer counts when it returns after it counted as dead", async () => {
    const engine = await shared();
    const was = await silentOnTrial(engine);
    await engine.advance(35_000);
    expect((await engine.runs())[0]?.body.trial?.deaths).toEqual([was]);
    const ops = [{ op: "node.join", name: "returned", leaseUntil: engine.clock.now() + 8_000, was }] as const;
    await engine.store.commit({ id: "return" as ChangeId, site: "node.join", at: engine.clock.now(), ops });
    await engine.advance(15_000);
    expect((await engine.runs())[0]?.body.trial).toMatchObject({ deaths: [] });
  });

  it("does not delay the abort of a run by a person", async () => {
    const engine = await shared();
    await silentOnTrial(engine);
    await engine.system.runs.abort((await engine.runs())[0]?.id as RunId);
    await engine.advance(3_000);
    expect((await engine.runs()).map(({ state }) => state)).toEqual(["ended"]);
  });
});
