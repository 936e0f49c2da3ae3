import { describe, expect, it } from "vitest";
import { TestEngine } from "../../../../test/kit/engine.ts";
import { seededIds } from "../../../../test/kit/ids.ts";
import type { RunId } from "../../../core/ids.ts";
import { silentLog } from "../../../core/ports/log.ts";
import type { Principal, UsageLimits } from "./principal.ts";
import { UsageLimiter } from "./usage-limiter.ts";

const token: Principal = { id: "t1", name: "t", scopes: ["chat"] };

describe("the usage limiter", () => {
  const open = async (limits: { perToken?: UsageLimits; perPerson?: UsageLimits }) => {
    const engine = await TestEngine.open();
    const ports = { store: engine.store, clock: engine.clock, ids: seededIds("limiter"), log: silentLog };
    const make = (shared?: boolean) =>
      new UsageLimiter(ports, () => ({ perToken: {}, perPerson: {}, ...limits }), shared);
    await engine.say("spend");
    await engine.settle();
    const [agent] = await engine.store.agents({ limit: 1 });
    const [run] = agent ? await engine.store.runs(agent.id, { limit: 1 }) : [];
    return { make, engine, runId: run?.id as RunId, spent: run?.body.usage?.totalTokens ?? 0 };
  };

  it("counts requests by token and by person", async () => {
    const { make } = await open({ perToken: { requestsPerMinute: 3 }, perPerson: { requestsPerMinute: 1 } });
    const limiter = make();
    await limiter.admit(token, "ann");
    await expect(limiter.admit(token, "ann")).rejects.toMatchObject({ status: 429, code: "rate_limit_exceeded" });
    await limiter.admit(token, "bob");
    await expect(limiter.admit(token, "cid")).rejects.toMatchObject({
      message: expect.stringContaining("This token"),
    });
    await limiter.admit({ ...token, id: "t2", limits: { requestsPerMinute: 100 } }, "cid");
  });

  it("refuses at the daily quota, also after a restart, and starts again the next day", async () => {
    const { make, engine, runId, spent } = await open({ perPerson: { tokensPerDay: 15 } });
    expect(spent).toBe(15);
    const limiter = make();
    await limiter.admit(token, "ann");
    await Promise.all([limiter.charge(token, "ann", runId), limiter.charge(token, "bob", runId)]);
    await expect(limiter.admit(token, "ann")).rejects.toMatchObject({ status: 429, code: "insufficient_quota" });
    await limiter.admit(token, "cid");
    await expect(make().admit(token, "bob")).rejects.toMatchObject({ code: "insufficient_quota" });
    engine.clock.jump(24 * 3600_000);
    await make().admit(token, "bob");
  });

  it("counts runs that end at the same time", async () => {
    const { make, runId } = await open({ perToken: { tokensPerDay: 31 } });
    const limiter = make();
    await Promise.all([1, 2, 3].map(() => limiter.charge(token, undefined, runId)));
    await expect(limiter.admit(token, undefined)).rejects.toMatchObject({ code: "insufficient_quota" });
  });

  it("counts the usage of several nodes together", async () => {
    const { make, runId } = await open({ perToken: { tokensPerDay: 31 } });
    const nodes = [make(true), make(true)];
    await nodes[0]?.admit(token, undefined);
    await Promise.all([0, 1, 0].map((n) => nodes[n]?.charge(token, undefined, runId)));
    for (const node of nodes) {
      await expect(node.admit(token, undefined)).rejects.toMatchObject({ code: "insufficient_quota" });
    }
  });
});
