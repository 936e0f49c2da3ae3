import { describe, expect, it } from "vitest";
import { TestEngine } from "../../../../test/kit/engine.ts";
import type { Principal, UsageLimits } from "./principal.ts";
import { UsageLimiter } from "./usage-limiter.ts";

const token: Principal = { id: "t1", name: "t", kind: "application", app: "t", scopes: ["chat"] };

describe("the usage limiter", () => {
  const open = async (limits: { perToken?: UsageLimits; perPerson?: UsageLimits }) => {
    const engine = await TestEngine.open();
    const { store, clock } = engine;
    const make = () => new UsageLimiter({ store, clock }, () => ({ perToken: {}, perPerson: {}, ...limits }));
    const limiter = make();
    /** A message of a person, whose run uses 15 tokens. */
    const spend = (person?: string, name = "ann") =>
      engine.tell("spend", { name, accounts: limiter.accountsOf(token, person) });
    return { make, limiter, engine, spend };
  };

  it("counts requests by token and by person", async () => {
    const { limiter } = await open({ perToken: { requestsPerMinute: 3 }, perPerson: { requestsPerMinute: 1 } });
    await limiter.admit(token, "ann");
    await expect(limiter.admit(token, "ann")).rejects.toMatchObject({ status: 429, code: "rate_limit_exceeded" });
    await limiter.admit(token, "bob");
    await expect(limiter.admit(token, "cid")).rejects.toMatchObject({
      message: expect.stringContaining("This token"),
    });
    await limiter.admit({ ...token, id: "t2", limits: { requestsPerMinute: 100 } }, "cid");
  });

  it("refuses at the daily quota, also after a restart, and starts again the next day", async () => {
    const { make, limiter, engine, spend } = await open({ perPerson: { tokensPerDay: 15 } });
    await limiter.admit(token, "ann");
    await spend("ann");
    await expect(limiter.admit(token, "ann")).rejects.toMatchObject({ status: 429, code: "insufficient_quota" });
    await limiter.admit(token, "bob");
    await engine.restart();
    await expect(make().admit(token, "ann")).rejects.toMatchObject({ code: "insufficient_quota" });
    engine.clock.jump(24 * 3600_000);
    await make().admit(token, "ann");
  });

  it("lets a request pass a used-up quota if it repeats an earlier one", async () => {
    const { limiter, spend } = await open({ perToken: { tokensPerDay: 1 } });
    await spend();
    await expect(limiter.admit(token, undefined)).rejects.toMatchObject({ code: "insufficient_quota" });
    await limiter.admit(token, undefined, async () => true);
  });

  it("counts runs that end at the same time, on any node", async () => {
    const { make, spend } = await open({ perToken: { tokensPerDay: 31 } });
    await Promise.all([spend(undefined, "ann"), spend(undefined, "bob"), spend(undefined, "cid")]);
    for (const node of [make(), make()]) {
      await expect(node.admit(token, undefined)).rejects.toMatchObject({ code: "insufficient_quota" });
    }
  });

  it.each([1, 2, 3, 4])("counts a run once if the process is killed after its commit %i", async (nth) => {
    const { limiter, engine } = await open({ perToken: { tokensPerDay: 1_000 } });
    await engine.say("one", { accounts: limiter.accountsOf(token, undefined) });
    let commits = 0;
    engine.onCommit = () => (++commits === nth ? "die-after" : "go");
    await engine.settle();
    await engine.restart();
    const [run] = await engine.runs();
    expect([run?.state, run?.body.usage?.totalTokens]).toEqual(["ended", 15]);
    const day = new Date(engine.clock.now()).toISOString().slice(0, 10);
    expect((await engine.store.budget(`quota:${day}:token:t1`))?.spent.tokens).toBe(15);
  });

  it("counts one run for every account whose messages it took", async () => {
    const { engine } = await open({});
    const queue = { mode: "collect", debounceMs: 1_000 } as const;
    // Messages are collected while a run is active.
    const gate = Promise.withResolvers<void>();
    engine.onCommit = (change) => {
      if (change.site === "take") gate.resolve();
      return "go";
    };
    await engine.say("zero");
    await gate.promise;
    await engine.send({ kind: "user", text: "one", queue }, { accounts: ["token:a", "person:p"] });
    await engine.send({ kind: "user", text: "two", queue }, { accounts: ["token:b", "person:p"] });
    await engine.advance(2_000);
    const day = new Date(engine.clock.now()).toISOString().slice(0, 10);
    const spent = async (name: string) => (await engine.store.budget(`quota:${day}:${name}`))?.spent.tokens;
    expect(await Promise.all(["token:a", "token:b", "person:p"].map(spent))).toEqual([15, 15, 15]);
    expect(await engine.runs()).toHaveLength(2);
  });

  it("names no account without a daily limit", async () => {
    const { limiter } = await open({ perToken: { requestsPerMinute: 5 } });
    expect(limiter.accountsOf(token, "ann")).toBeUndefined();
    expect(limiter.accountsOf({ ...token, limits: { dollarsPerDay: 1 } }, "ann")).toEqual(["token:t1"]);
  });
});
