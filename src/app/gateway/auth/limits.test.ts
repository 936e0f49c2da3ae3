import { describe, expect, it } from "vitest";
import { virtualClock } from "../../../../test/kit/clock.ts";
import { TestEngine } from "../../../../test/kit/engine.ts";
import { seededIds } from "../../../../test/kit/ids.ts";
import type { RunId } from "../../../core/ids.ts";
import { silentLog } from "../../../core/ports/log.ts";
import { Allowances } from "./allowances.ts";
import { Buckets } from "./buckets.ts";
import type { Allowance, Principal } from "./principal.ts";

const token: Principal = { id: "t1", name: "t", scopes: ["chat"] };

describe("buckets", () => {
  it("give what they hold, fill up with time, and are forgotten when there are too many", async () => {
    const clock = virtualClock();
    const buckets = new Buckets(clock.monotonic, 2);
    const rate = { burst: 2, perSecond: 1 };
    expect([1, 2, 3].map(() => buckets.take("a", rate))).toEqual([0, 0, 1_000]);
    await clock.advance(500);
    expect(buckets.take("a", rate)).toBe(500);
    await clock.advance(500);
    expect(buckets.take("a", rate)).toBe(0);
    buckets.take("b", rate);
    buckets.take("c", rate);
    expect(buckets.take("a", rate)).toBe(0);
  });
});

describe("allowances", () => {
  const open = async (limits: { perToken?: Allowance; perPerson?: Allowance }) => {
    const engine = await TestEngine.open();
    const ports = { store: engine.store, clock: engine.clock, ids: seededIds("desk"), log: silentLog };
    const make = (shared?: boolean) =>
      new Allowances(ports, () => ({ perToken: {}, perPerson: {}, ...limits }), shared);
    await engine.say("spend");
    await engine.settle();
    const [agent] = await engine.store.agents({ limit: 1 });
    const [run] = agent ? await engine.store.runs(agent.id, { limit: 1 }) : [];
    return { make, engine, runId: run?.id as RunId, spent: run?.body.usage?.totalTokens ?? 0 };
  };

  it("count requests by token and by person", async () => {
    const { make } = await open({ perToken: { requestsPerMinute: 3 }, perPerson: { requestsPerMinute: 1 } });
    const allowances = make();
    await allowances.admit(token, "ann");
    await expect(allowances.admit(token, "ann")).rejects.toMatchObject({ status: 429, code: "rate_limit_exceeded" });
    await allowances.admit(token, "bob");
    await expect(allowances.admit(token, "cid")).rejects.toMatchObject({
      message: expect.stringContaining("This token"),
    });
    await allowances.admit({ ...token, id: "t2", limits: { requestsPerMinute: 100 } }, "cid");
  });

  it("stop at what was spent, remember it over a restart, and begin anew the next day", async () => {
    const { make, engine, runId, spent } = await open({ perPerson: { tokensPerDay: 15 } });
    expect(spent).toBe(15);
    const allowances = make();
    await allowances.admit(token, "ann");
    await Promise.all([allowances.charge(token, "ann", runId), allowances.charge(token, "bob", runId)]);
    await expect(allowances.admit(token, "ann")).rejects.toMatchObject({ status: 429, code: "insufficient_quota" });
    await allowances.admit(token, "cid");
    await expect(make().admit(token, "bob")).rejects.toMatchObject({ code: "insufficient_quota" });
    engine.clock.jump(24 * 3600_000);
    await make().admit(token, "bob");
  });

  it("count two runs that end together", async () => {
    const { make, runId } = await open({ perToken: { tokensPerDay: 31 } });
    const allowances = make();
    await Promise.all([1, 2, 3].map(() => allowances.charge(token, undefined, runId)));
    await expect(allowances.admit(token, undefined)).rejects.toMatchObject({ code: "insufficient_quota" });
  });

  it("count together what was spent through several nodes", async () => {
    const { make, runId } = await open({ perToken: { tokensPerDay: 31 } });
    const nodes = [make(true), make(true)];
    await nodes[0]?.admit(token, undefined);
    await Promise.all([0, 1, 0].map((n) => nodes[n]?.charge(token, undefined, runId)));
    for (const node of nodes) {
      await expect(node.admit(token, undefined)).rejects.toMatchObject({ code: "insufficient_quota" });
    }
  });
});
