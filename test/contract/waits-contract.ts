/** Waits between agents: stored with their run, refused if they would close a circle (M11). */
import fc from "fast-check";
import { expect } from "vitest";
import type { AgentId, RunId } from "../../src/core/ids.ts";
import type { Op } from "../../src/core/store/change.ts";
import { type Held, keyOf, type Opener, postOp, runBody, storeTest, userBody, type World } from "./fixture.ts";

const NAMES = ["a", "b", "c", "d", "e"] as const;

interface Busy extends Held {
  readonly runId: RunId;
}

/** Agents, each with an open run. */
async function busy(world: World, names: readonly string[] = NAMES): Promise<Record<string, Busy>> {
  const agents: Record<string, Busy> = {};
  for (const name of names) {
    const held = await world.agent(name);
    agents[name] = { ...held, runId: await world.openRun(held, `run of ${name}`) };
  }
  return agents;
}

const begin = (from: Busy, to: AgentId, id = `${from.id} for ${to}`): Op => ({
  op: "wait.begin",
  id,
  from: from.id,
  to: { agentId: to },
  runId: from.runId,
});

export function waitsContract(open: Opener): void {
  storeTest("a wait is stored until it ends, and adding it twice stores it once", open, async (world) => {
    const { a, b } = (await busy(world, ["a", "b"])) as { a: Busy; b: Busy };
    await world.done([begin(a, b.id, "w")]);
    await world.done([begin(a, b.id, "w")]);
    const edge = { id: "w", from: a.id, to: b.id, runId: a.runId, since: expect.any(Number) };
    expect(await world.store.waits({ limit: 10 })).toEqual([edge]);
    expect(await world.store.waits({ limit: 10, from: a.id })).toEqual([edge]);
    expect(await world.store.waits({ limit: 10, from: b.id })).toEqual([]);
    expect(await world.store.waits({ limit: 10, after: "w" })).toEqual([]);
    await world.done([
      { op: "wait.end", id: "w" },
      { op: "wait.end", id: "never begun" },
    ]);
    expect(await world.store.waits({ limit: 10 })).toEqual([]);
  });

  storeTest("a wait that closes a circle is refused together with its whole change", open, async (world) => {
    const { a, b, c } = (await busy(world, ["a", "b", "c"])) as { a: Busy; b: Busy; c: Busy };
    expect(await world.refused([begin(a, a.id)])).toBe("cycle");
    await world.done([begin(a, b.id)]);
    await world.done([begin(b, c.id)]);
    const post = postOp({ agentId: a.id }, userBody("are you there?"), world.now);
    expect(await world.refused([post, begin(c, a.id)])).toBe("cycle");
    expect(await world.store.waiting(a.id, { limit: 10 })).toEqual([]);
    await world.done([begin(a, c.id)]);
    await world.done([{ op: "wait.end", id: `${b.id} for ${c.id}` }]);
    await world.done([{ op: "wait.end", id: `${a.id} for ${c.id}` }]);
    await world.done([begin(c, a.id)]);
  });

  storeTest("a wait counts only while its run is open", open, async (world) => {
    const { a, b } = (await busy(world, ["a", "b"])) as { a: Busy; b: Busy };
    await world.done([begin(a, b.id)]);
    const end: Op = { op: "run.end", runId: a.runId, body: runBody(), outcome: "timeout" };
    await world.done([end], { ...a.owner, run: { id: a.runId, step: 1 } });
    expect(await world.store.waits({ limit: 10 })).toEqual([]);
    await world.done([begin(b, a.id)]);
    const runId = await world.openRun(a, "the next run of a");
    expect(await world.refused([begin({ ...a, runId }, b.id)])).toBe("cycle");
  });

  storeTest("a wait can name an agent that the same change creates, but not a missing one", open, async (world) => {
    const { a } = (await busy(world, ["a"])) as { a: Busy };
    const to = { sessionKey: keyOf("z"), create: world.seed("z") };
    const wait: Op = { op: "wait.begin", id: "w", from: a.id, to: { sessionKey: keyOf("z") }, runId: a.runId };
    expect(await world.refused([wait])).toBe("missing");
    await world.done([postOp(to, userBody("hi"), world.now), wait]);
    expect(await world.store.waits({ limit: 10 })).toMatchObject([{ id: "w", from: a.id, to: world.seed("z").id }]);
  });

  storeTest("no order of waits closes a circle", open, async (world) => {
    const agents = await busy(world);
    const name = fc.constantFrom(...NAMES);
    const asks = fc.array(fc.record({ from: name, to: name, ends: fc.boolean() }), { maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(asks, async (list) => {
        const edges = new Map<string, { from: string; to: string }>();
        const reaches = (at: string, goal: string): boolean =>
          at === goal || [...edges.values()].some(({ from, to }) => from === at && reaches(to, goal));
        for (const { from, to, ends } of list) {
          const [one, other] = [agents[from] as Busy, agents[to] as Busy];
          const id = `${from}-${to}`;
          if (ends) {
            await world.done([{ op: "wait.end", id }]);
            edges.delete(id);
            continue;
          }
          const { ok } = await world.commit([begin(one, other.id, id)]);
          expect(ok, `${from} waits for ${to}`).toBe(!reaches(to, from));
          if (ok) edges.set(id, { from, to });
        }
        for (const id of edges.keys()) await world.done([{ op: "wait.end", id }]);
      }),
      { numRuns: 15 },
    );
  });

  storeTest("a wait that its run left behind closes no circle, also beside other open runs", open, async (world) => {
    const { a, b } = (await busy(world, ["a", "b"])) as { a: Busy; b: Busy };
    await world.done([begin(a, b.id)]);
    await world.done([{ op: "run.end", runId: a.runId, body: runBody(), outcome: "ok" }], a.owner);
    expect(await world.store.waits({ limit: 10 })).toEqual([]);
    await world.openRun(a, "the next run of a");
    await world.done([begin(b, a.id)]);
    expect(await world.store.waits({ limit: 10 })).toMatchObject([{ from: b.id, to: a.id }]);
  });
}
