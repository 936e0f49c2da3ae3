/** Runs: one open per agent, steps that count, and abort marks that every step reads (L3, M9, M13). */
import { expect } from "vitest";
import type { RunId } from "../../src/core/ids.ts";
import type { Op, Owner } from "../../src/core/store/change.ts";
import { type Held, idOf, type Opener, runBody, START, sessionOf, storeTest, type World } from "./fixture.ts";

const R = "r" as RunId;
const step = (attempt?: number): Op => ({
  op: "run.step",
  runId: R,
  body: { ...runBody(), iterations: 3 },
  attempt,
});
const end = (outcome: "ok" | "aborted" = "ok"): Op => ({ op: "run.end", runId: R, body: runBody(), outcome });
const at = (held: Held, n: number, evenAborted?: boolean): Owner => ({
  ...held.owner,
  run: { id: R, step: n, evenAborted },
});

async function abort(world: World): Promise<boolean> {
  const [aborted] = await world.done([{ op: "run.abort", runId: R, mark: { reason: "person", at: 9 } }]);
  if (aborted?.op !== "run.abort") throw new Error("No answer.");
  return aborted.marked;
}

export function runContract(open: Opener): void {
  storeTest("a run opens, takes steps and ends, and the agent names it while it is open", open, async (world) => {
    const a = await world.agent("a");
    await world.openRun(a, R);
    expect(await world.store.agent(a.id)).toMatchObject({ runId: R });
    expect(await world.store.run(R)).toEqual({
      id: R,
      agentId: a.id,
      sessionId: sessionOf(1),
      state: "open",
      attempt: 1,
      step: 1,
      startedAt: expect.any(Number),
      endedAt: undefined,
      outcome: undefined,
      abort: undefined,
      body: runBody(),
    });
    await world.done([step()], at(a, 1));
    expect(await world.store.run(R)).toMatchObject({ step: 2, attempt: 1, body: { iterations: 3 } });
    await world.done([end()], at(a, 2));
    const ended = await world.store.run(R);
    expect(ended).toMatchObject({ state: "ended", outcome: "ok", step: 3 });
    expect(ended?.endedAt).toBeGreaterThanOrEqual(START);
    expect((await world.store.agent(a.id))?.runId).toBeUndefined();
  });

  storeTest("an amended body is no step, and is refused at another step or after the end", open, async (world) => {
    const a = await world.agent("a");
    const b = await world.agent("b");
    await world.openRun(a, R);
    await world.done([step(2)], at(a, 1));
    const amend: Op = { op: "run.amend", runId: R, body: { ...runBody(), iterations: 9 } };
    await world.done([amend], at(a, 2));
    expect(await world.store.run(R)).toMatchObject({ state: "open", step: 2, attempt: 2, body: { iterations: 9 } });
    expect(await world.refused([amend], at(a, 1))).toBe("run");
    expect(await world.refused([amend], b.owner)).toBe("run");
    await world.done([end()], at(a, 2));
    expect(await world.refused([amend], a.owner)).toBe("run");
  });

  storeTest("runs that were resumed before are listed while their holder has not resumed them", open, async (world) => {
    const { store, node } = world;
    const [a, b, c] = [await world.agent("a"), await world.agent("b"), await world.agent("c")];
    const ids = ["ra", "rb", "rc"] as RunId[];
    const held = async (page: { limit: number; node?: number }) => (await store.heldBackRuns(page)).map(({ id }) => id);
    for (const [n, one] of [a, b, c].entries()) await world.openRun(one, ids[n] as RunId);
    const resumed = (runId: RunId, body: object, attempt?: number): Op => ({
      ...{ op: "run.step", runId, attempt },
      body: { ...runBody(), ...body },
    });
    expect(await held({ limit: 9 })).toEqual([]);
    await world.done([resumed(ids[2] as RunId, { node: 99, trial: { deaths: [], survived: 1 } })], c.owner);
    await world.done([resumed(ids[1] as RunId, { node }, 2)], b.owner);
    await world.done([resumed(ids[0] as RunId, { node: 99 }, 2)], a.owner);
    expect(await held({ limit: 9 })).toEqual(["ra", "rc"]);
    expect(await held({ limit: 1, node })).toEqual(["ra"]);
    expect(await held({ limit: 9, node: 99 })).toEqual([]);
    await world.done([{ op: "run.end", runId: ids[0] as RunId, body: runBody(), outcome: "ok" }], a.owner);
    expect((await store.heldBackRuns({ limit: 9, node })).map(({ id, body }) => [id, body.trial?.survived])).toEqual([
      ["rc", 1],
    ]);
  });

  storeTest("an agent has at most one open run, and a run id is used once", open, async (world) => {
    const a = await world.agent("a");
    await world.openRun(a, R);
    const open2: Op = { op: "run.open", runId: "other" as RunId, body: runBody() };
    expect(await world.refused([open2], a.owner)).toBe("conflict");
    await world.done([end()], at(a, 1));
    expect(await world.refused([{ op: "run.open", runId: R, body: runBody() }], a.owner)).toBe("conflict");
    await world.done([open2], a.owner);
    expect((await world.store.runs(a.id, { limit: 10 })).map((run) => run.id)).toEqual(["other", R]);
    expect((await world.store.runs(a.id, { limit: 1 })).map((run) => run.id)).toEqual(["other"]);
    const before = "other" as RunId;
    expect((await world.store.runs(a.id, { limit: 1, before })).map((run) => run.id)).toEqual([R]);
  });

  storeTest("a change for a run at another step, or one that has ended, is refused", open, async (world) => {
    const a = await world.agent("a");
    await world.openRun(a, R);
    await world.done([step()], at(a, 1));
    expect(await world.refused([step()], at(a, 1))).toBe("run");
    expect(await world.refused([step()], at(a, 3))).toBe("run");
    await world.done([end()], at(a, 2));
    expect(await world.refused([step()], at(a, 3))).toBe("run");
    expect(await world.refused([end()], at(a, 3, true))).toBe("run");
    expect(await world.refused([{ op: "fact.put", key: "f", value: "1" }], at(a, 3))).toBe("run");
    expect(await world.refused([step()], a.owner)).toBe("run");
    expect(await world.refused([end()], a.owner)).toBe("run");
  });

  storeTest("another agent's run cannot be stepped or ended", open, async (world) => {
    const a = await world.agent("a");
    const b = await world.agent("b");
    await world.openRun(a, R);
    expect(await world.refused([step()], b.owner)).toBe("run");
    expect(await world.refused([end()], b.owner)).toBe("run");
    expect(await world.store.run(R)).toMatchObject({ state: "open", step: 1 });
  });

  storeTest(
    "a step stores the attempt it names; a step without one starts again at the first attempt",
    open,
    async (world) => {
      const a = await world.agent("a");
      await world.openRun(a, R);
      await world.done([step(2)], at(a, 1));
      expect(await world.store.run(R)).toMatchObject({ attempt: 2, step: 2 });
      await world.done([step()], at(a, 2));
      expect(await world.store.run(R)).toMatchObject({ attempt: 1, step: 3 });
    },
  );

  storeTest(
    "after an abort mark every step is refused, and only a change that accepts the mark ends the run",
    open,
    async (world) => {
      const a = await world.agent("a");
      await world.openRun(a, R);
      expect(await abort(world)).toBe(true);
      expect(await world.store.run(R)).toMatchObject({ abort: { reason: "person", at: 9 } });
      expect(await abort(world)).toBe(false);
      expect(await world.refused([step()], at(a, 1))).toBe("aborted");
      expect(await world.refused([end()], at(a, 1))).toBe("aborted");
      await world.done([end("aborted")], at(a, 1, true));
      expect(await world.store.run(R)).toMatchObject({ state: "ended", outcome: "aborted" });
    },
  );

  storeTest("an abort mark on an ended run has no effect and returns false", open, async (world) => {
    const a = await world.agent("a");
    await world.openRun(a, R);
    const [ended, marked] = await Promise.all([
      world.commit([end()], at(a, 1)),
      world.commit([{ op: "run.abort", runId: R, mark: { reason: "person", at: 9 } }]),
    ]);
    expect(ended).toMatchObject({ ok: true });
    expect(marked).toMatchObject({ ok: true, results: [{ marked: false }] });
    expect((await world.store.run(R))?.abort).toBeUndefined();
    expect(await abort(world)).toBe(false);
  });

  storeTest("an abort mark and a step in one group are applied in their order", open, async (world) => {
    const a = await world.agent("a");
    await world.openRun(a, R);
    const [marked, stepped] = await Promise.all([
      world.commit([{ op: "run.abort", runId: R, mark: { reason: "interrupt", at: 9 } }]),
      world.commit([step()], at(a, 1)),
    ]);
    expect(marked).toMatchObject({ ok: true, results: [{ marked: true }] });
    expect(stepped).toMatchObject({ ok: false, refused: "aborted" });
  });

  storeTest("an unknown run is undefined, and an unknown agent has no runs", open, async (world) => {
    expect(await world.store.run("none" as RunId)).toBeUndefined();
    expect(await world.store.runs(idOf("unknown"), { limit: 5 })).toEqual([]);
  });
}
