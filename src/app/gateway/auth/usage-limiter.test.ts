import { describe, expect, it } from "vitest";
import { TestEngine } from "../../../../test/kit/engine.ts";
import type { PersonId } from "../../../core/people/person.ts";
import type { UsageLimits } from "./principal.ts";
import { UsageLimiter } from "./usage-limiter.ts";

const token = { id: "t1" };
const [ann, bob, cid] = ["app:t/ann", "app:t/bob", "app:t/cid"] as PersonId[];
const dayOf = (at: number) => new Date(at).toISOString().slice(0, 10);

describe("the usage limiter", () => {
  const open = async (limits: { perToken?: UsageLimits; perPerson?: UsageLimits }) => {
    const engine = await TestEngine.open({ settings: { budgets: {} } });
    const { store, clock } = engine;
    const configured = () => ({ perToken: {}, perPerson: {}, ...limits });
    const make = () => new UsageLimiter({ store, clock }, { limits: configured, dayOf });
    const limiter = make();
    /** A message of a person, whose run uses 15 tokens. */
    const spend = (person = ann, name = "ann", by: Parameters<UsageLimiter["admit"]>[0] = token) =>
      engine.tell("spend", { name, behalf: { person: person as PersonId, limits: limiter.dayLimitsOf(by, person) } });
    const spent = async (key: string) => (await store.budget(key.replace("DAY", dayOf(clock.now()))))?.spent.tokens;
    return { make, limiter, engine, spend, spent };
  };

  it("counts requests by token and by person", async () => {
    const { limiter } = await open({ perToken: { requestsPerMinute: 3 }, perPerson: { requestsPerMinute: 1 } });
    await limiter.admit(token, ann);
    await expect(limiter.admit(token, ann)).rejects.toMatchObject({ status: 429, code: "rate_limit_exceeded" });
    await limiter.admit(token, bob);
    await expect(limiter.admit(token, cid)).rejects.toMatchObject({ message: expect.stringContaining("The token t1") });
    await limiter.admit({ id: "t2", limits: { requestsPerMinute: 100 } }, cid);
  });

  it("counts the requests of a token for those that minted it, so that none has a higher rate than its minter", async () => {
    const { limiter } = await open({ perToken: { requestsPerMinute: 2 } });
    const child = (id: string) => ({ id, limits: { requestsPerMinute: 1_000 }, above: [token] });
    await limiter.admit(child("c1"), undefined);
    await limiter.admit(child("c2"), undefined);
    await expect(limiter.admit(child("c3"), undefined)).rejects.toMatchObject({ code: "rate_limit_exceeded" });
    await expect(limiter.admit(token, undefined)).rejects.toMatchObject({ code: "rate_limit_exceeded" });
  });

  it("refuses at the daily limit, also after a restart, and starts again the next day", async () => {
    const { make, limiter, engine, spend } = await open({ perPerson: { tokensPerDay: 400 } });
    await limiter.admit(token, ann);
    for (let n = 0; n < 8; n++) await spend();
    // The next call would not fit, although the limit itself is not reached.
    expect((await engine.runs()).at(-1)?.body.error?.message).toMatch(
      /The budget of app:t\/ann for today is nearly used up.* of 400 tokens\. The owner can lift it: rookery usage lift person:[\d-]+:app:t\/ann --tokens N/,
    );
    const day = dayOf(engine.clock.now());
    const ops = [{ op: "budget.charge", key: `person:${day}:${ann}`, spent: { tokens: 400, micros: 0 } }] as const;
    await engine.store.commit({ id: "c" as never, site: "test", at: 1, ops });
    await expect(limiter.admit(token, ann)).rejects.toMatchObject({ status: 429, code: "insufficient_quota" });
    await limiter.admit(token, bob);
    await engine.restart();
    await expect(make().admit(token, ann)).rejects.toMatchObject({ code: "insufficient_quota" });
    engine.clock.jump(24 * 3600_000);
    await make().admit(token, ann);
  });

  it("lets a request that repeats an earlier one pass, and counts nothing for it", async () => {
    const { limiter } = await open({ perToken: { requestsPerMinute: 1 } });
    for (let n = 0; n < 5; n++) await limiter.admit(token, undefined, async () => true);
    await limiter.admit(token, undefined);
    await expect(limiter.admit(token, undefined)).rejects.toMatchObject({ code: "rate_limit_exceeded" });
    await limiter.admit(token, undefined, async () => true);
  });

  it("counts every run for its token, every token above it and its person, on any node", async () => {
    const { spend, spent } = await open({ perToken: { tokensPerDay: 1e6 }, perPerson: { tokensPerDay: 1e6 } });
    const child = { id: "c", above: [{ id: "p" }, { id: "g" }] };
    await Promise.all([spend(ann, "ann", child), spend(bob, "bob", child), spend(ann, "cid", { id: "p" })]);
    expect(await Promise.all(["c", "p", "g"].map((id) => spent(`token:DAY:${id}`)))).toEqual([30, 45, 30]);
    expect(await Promise.all([ann, bob].map((id) => spent(`person:DAY:${id}`)))).toEqual([30, 15]);
  });

  it.each([1, 2, 3, 4, 5])(
    "counts a run and its message once if the process is killed after its commit %i",
    async (nth) => {
      const { limiter, engine, spent } = await open({ perToken: { tokensPerDay: 1e6, messagesPerDay: 10 } });
      await engine.say("one", { behalf: { person: ann as PersonId, limits: limiter.dayLimitsOf(token, ann) } });
      let commits = 0;
      engine.onCommit = () => (++commits === nth ? "die-after" : "go");
      await engine.settle();
      await engine.restart();
      const [run] = await engine.runs();
      expect([run?.state, run?.body.usage?.totalTokens]).toEqual(["ended", 15]);
      expect(await spent("messages:DAY:token:t1")).toBe(1);
      const row = await engine.store.budget(`token:${dayOf(engine.clock.now())}:t1`);
      // A call whose answer was lost with the process is counted with its reservation, as estimated.
      expect((row?.spent.tokens ?? 0) - (row?.estimated.tokens ?? 0)).toBe(15);
    },
  );

  it("counts messages exactly, also those that come at the same time or into a run", async () => {
    const { limiter, engine, spent } = await open({ perPerson: { messagesPerDay: 3 } });
    const behalf = { person: ann as PersonId, limits: limiter.dayLimitsOf(token, ann) };
    await Promise.all(Array.from({ length: 8 }, (_, n) => engine.tell(`m${n}`, { name: `n${n}`, behalf })));
    const runs = (
      await Promise.all(Array.from({ length: 8 }, (_, n) => engine.agentId(`n${n}`).then((id) => engine.runs(id))))
    ).flat();
    expect(runs.filter(({ outcome }) => outcome === "ok")).toHaveLength(3);
    expect(runs.find(({ outcome }) => outcome !== "ok")?.body.error).toMatchObject({
      kind: "budget",
      message: expect.stringMatching(/is used up: 3 of 3 messages\. The owner can lift it: .*--messages N/),
    });
    expect(await spent(`messages:DAY:person:${ann}`)).toBe(3);
    await expect(limiter.admit(token, ann)).rejects.toMatchObject({ code: "insufficient_quota" });
  });

  const charge = async (engine: TestEngine, key: string, spent: { tokens: number; micros: number }) => {
    const ops = [{ op: "budget.charge", key: key.replace("DAY", dayOf(engine.clock.now())), spent }] as const;
    await engine.store.commit({ id: `charge ${key}` as never, site: "test", at: 1, ops });
  };

  it.each<[string, UsageLimits, string, { tokens: number; micros: number }, RegExp | undefined]>([
    ["below a limit of tokens", { tokensPerDay: 100 }, "token:DAY:t1", { tokens: 99, micros: 9e9 }, undefined],
    ["at a limit of tokens", { tokensPerDay: 100 }, "token:DAY:t1", { tokens: 100, micros: 0 }, /100 of 100 tokens/],
    ["below a limit in money", { dollarsPerDay: 1 }, "token:DAY:t1", { tokens: 9e9, micros: 999_999 }, undefined],
    [
      "at a limit in money",
      { dollarsPerDay: 1 },
      "token:DAY:t1",
      { tokens: 0, micros: 1_000_000 },
      /\$1\.00 of \$1\.00/,
    ],
    [
      "at the limit in money and below the one of tokens",
      { dollarsPerDay: 1, tokensPerDay: 100 },
      "token:DAY:t1",
      { tokens: 99, micros: 1_000_000 },
      /\$1\.00 of \$1\.00.*--dollars N/,
    ],
    [
      "at the limit of tokens and below the one in money",
      { dollarsPerDay: 1, tokensPerDay: 100 },
      "token:DAY:t1",
      { tokens: 100, micros: 999_999 },
      /100 of 100 tokens.*--tokens N/,
    ],
    ["below a limit of messages", { messagesPerDay: 2 }, "messages:DAY:token:t1", { tokens: 1, micros: 0 }, undefined],
    [
      "at a limit of messages",
      { messagesPerDay: 2 },
      "messages:DAY:token:t1",
      { tokens: 2, micros: 0 },
      /2 of 2 messages/,
    ],
    ["with tokens of messages only", { tokensPerDay: 2 }, "messages:DAY:token:t1", { tokens: 2, micros: 0 }, undefined],
  ])("%s lets a request pass or says what is used up", async (_, perToken, key, spent, refused) => {
    const { limiter, engine } = await open({ perToken });
    await charge(engine, key, spent);
    const admitted = limiter.admit(token, undefined);
    if (!refused) return admitted;
    const error = { status: 429, code: "insufficient_quota", message: expect.stringMatching(refused) };
    await expect(admitted).rejects.toMatchObject(error);
  });

  it("takes no permit for a request that a quota refuses, of this token or of one above it", async () => {
    const { limiter, engine } = await open({ perPerson: { tokensPerDay: 10 } });
    const child = { id: "c", limits: { requestsPerMinute: 1 }, above: [token] };
    await charge(engine, `person:DAY:${ann}`, { tokens: 10, micros: 0 });
    for (let n = 0; n < 3; n++) {
      await expect(limiter.admit(child, ann)).rejects.toMatchObject({ code: "insufficient_quota" });
    }
    await limiter.admit(child, bob);
    await expect(limiter.admit(child, bob)).rejects.toMatchObject({ code: "rate_limit_exceeded" });
  });

  it("says how long to wait, at most a minute, and lets the request pass then", async () => {
    const { limiter, engine } = await open({ perToken: { requestsPerMinute: 2 } });
    await limiter.admit(token, undefined);
    await limiter.admit(token, undefined);
    await expect(limiter.admit(token, undefined)).rejects.toMatchObject({ retryAfterMs: 30_000 });
    const slow = { id: "slow", limits: { requestsPerMinute: 0.1 } };
    await expect(limiter.admit(slow, undefined)).rejects.toMatchObject({ retryAfterMs: 60_000 });
    engine.clock.advanceSync(30_000);
    await limiter.admit(token, undefined);
  });

  it("asks whether a request is repeated only if something is limited, and ignores limits of people without a name", async () => {
    const { limiter } = await open({ perPerson: { requestsPerMinute: 1 } });
    const never = () => Promise.reject(new TypeError("not asked for"));
    await limiter.admit(token, undefined, never);
    await limiter.admit(token, undefined, never);
    await expect(limiter.admit(token, ann, never)).rejects.toThrow("not asked for");
  });

  it("prefers the limits of a token to the configured ones, each for itself", async () => {
    const { limiter } = await open({
      perToken: { tokensPerDay: 5, messagesPerDay: 6 },
      perPerson: { messagesPerDay: 7 },
    });
    expect(limiter.dayLimitsOf({ ...token, limits: { tokensPerDay: 9 }, above: [{ id: "p" }] }, ann)).toEqual([
      { of: "token", id: "t1", tokens: 9, messages: 6 },
      { of: "token", id: "p", tokens: 5, messages: 6 },
      { of: "person", id: ann, messages: 7 },
    ]);
  });

  it("names no limit and adds no commit without a daily limit", async () => {
    const { limiter, engine, spend } = await open({ perToken: { requestsPerMinute: 5 } });
    expect(limiter.dayLimitsOf(token, ann)).toBeUndefined();
    expect(limiter.dayLimitsOf({ ...token, limits: { dollarsPerDay: 1 } }, ann)).toEqual([
      { of: "token", id: "t1", micros: 1_000_000 },
    ]);
    await spend();
    expect(engine.commits.map(({ site }) => site)).not.toContain("reserve");
  });
});
