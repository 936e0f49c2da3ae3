/** A change is applied whole or not at all, alone and in a group, and its outcome can be looked up (M1, M2). */
import { expect } from "vitest";
import { freshState } from "../../src/core/agent/fresh-state.ts";
import type { ChangeId, EntryId, RunId } from "../../src/core/ids.ts";
import type { CommitResult, Op } from "../../src/core/store/change.ts";
import { idOf, keyOf, type Opener, postOp, runBody, sessionOf, storeTest, userBody } from "./fixture.ts";

const fact = (key: string, value: string): Op => ({ op: "fact.put", key, value });

export function commitContract(open: Opener): void {
  storeTest("a refused change leaves nothing behind, even if it wrote before the refusal", open, async (world) => {
    const a = await world.agent("a");
    await world.post(a.id);
    const before = await world.store.agent(a.id);
    const reason = await world.refused(
      [
        fact("f", "1"),
        { op: "run.open", runId: "r" as RunId, body: runBody([1]) },
        { op: "message.take", runId: "r" as RunId, seqs: [1] },
        { op: "entries.append", position: 2, lines: ["{}"], leaf: "x" as EntryId },
        { op: "state.put", state: { ...freshState(1), label: "new" } },
        postOp({ sessionKey: keyOf("b"), create: world.seed("b") }, userBody("hi"), 1),
        { op: "message.settle", settlements: [{ seq: 99, from: "taken", state: "answered" }] },
      ],
      a.owner,
    );
    expect(reason).toBe("conflict");
    expect(await world.store.agent(a.id)).toEqual(before);
    expect(await world.store.agent(idOf("b"))).toBeUndefined();
    expect(await world.store.agentByKey(keyOf("b"))).toBeUndefined();
    expect(await world.store.run("r" as RunId)).toBeUndefined();
    expect(await world.store.fact("f")).toBeUndefined();
    expect(await world.store.message(a.id, 1)).toMatchObject({ state: "waiting" });
    expect(await world.store.linesBack(a.id, { limit: 10 })).toHaveLength(2);
    expect(await world.post(a.id)).toMatchObject({ seq: 2 });
  });

  storeTest("each change of a group is applied or refused independently of the others", open, async (world) => {
    const a = await world.agent("a");
    const b = await world.agent("b");
    const commits: Promise<CommitResult>[] = [];
    for (let i = 0; i < 30; i++) {
      commits.push(world.commit([fact(`good-${i}`, "1"), postOp({ agentId: a.id }, userBody(`${i}`), i)]));
      commits.push(
        world.commit([
          fact(`bad-${i}`, "1"),
          postOp({ agentId: a.id }, userBody("lost"), i),
          postOp({ agentId: idOf("unknown") }, userBody("lost"), i),
        ]),
      );
      commits.push(world.commit([fact(`stale-${i}`, "1")], { ...b.owner, epoch: b.owner.epoch + 7 }));
    }
    const results = await Promise.all(commits);
    for (let i = 0; i < 30; i++) {
      expect(results[3 * i]).toMatchObject({ ok: true });
      expect(results[3 * i + 1]).toMatchObject({ ok: false, refused: "missing" });
      expect(results[3 * i + 2]).toMatchObject({ ok: false, refused: "fenced" });
      expect(await world.store.fact(`good-${i}`)).toBe("1");
      expect(await world.store.fact(`bad-${i}`)).toBeUndefined();
      expect(await world.store.fact(`stale-${i}`)).toBeUndefined();
    }
    const waiting = await world.store.waiting(a.id, { limit: 100 });
    expect(waiting.map((message) => message.seq)).toEqual(Array.from({ length: 30 }, (_, i) => i + 1));
    expect(waiting.map((message) => message.body)).toEqual(Array.from({ length: 30 }, (_, i) => userBody(`${i}`)));
  });

  storeTest("changes of one group see what the changes before them in the group wrote", open, async (world) => {
    const a = await world.agent("a");
    const run = "r" as RunId;
    const results = await Promise.all([
      world.commit([postOp({ agentId: a.id }, userBody("one"), 1)]),
      world.commit([{ op: "run.open", runId: run, body: runBody([1]) }], a.owner),
      world.commit([{ op: "message.take", runId: run, seqs: [1] }], { ...a.owner, run: { id: run, step: 1 } }),
      world.commit([{ op: "run.step", runId: run, body: runBody([1]) }], { ...a.owner, run: { id: run, step: 1 } }),
      world.commit([{ op: "run.step", runId: run, body: runBody([1]) }], { ...a.owner, run: { id: run, step: 1 } }),
      world.commit([{ op: "agent.release" }], a.owner),
    ]);
    expect(results.slice(0, 4).every((result) => result.ok)).toBe(true);
    expect(results[4]).toMatchObject({ ok: false, refused: "run" });
    expect(results[5]).toMatchObject({ ok: true, results: [{ released: false }] });
  });

  storeTest("a change by another node or under an older claim is refused as fenced", open, async (world) => {
    const a = await world.agent("a");
    const ops: Op[] = [{ op: "leaf.move", leaf: "x" as EntryId }];
    expect(await world.refused(ops, { ...a.owner, node: a.owner.node + 1 })).toBe("fenced");
    expect(await world.refused(ops, { ...a.owner, epoch: a.owner.epoch - 1 })).toBe("fenced");
    expect(await world.refused(ops, { ...a.owner, epoch: a.owner.epoch + 1 })).toBe("fenced");
    await world.done(ops, a.owner);
    await world.done([{ op: "agent.release" }], a.owner);
    expect(await world.refused(ops, a.owner)).toBe("fenced");
    await world.done([{ op: "agent.claim", agentId: a.id, node: world.node }]);
    expect(await world.refused(ops, a.owner)).toBe("fenced");
  });

  storeTest("an op that needs an owner is refused if the change names none", open, async (world) => {
    await world.agent("a");
    const ops: Op[] = [
      { op: "agent.release" },
      { op: "message.take", runId: "r" as RunId, seqs: [] },
      { op: "message.settle", settlements: [] },
      { op: "entries.append", position: 2, lines: ["{}"], leaf: "x" as EntryId },
      { op: "leaf.move", leaf: "x" as EntryId },
      { op: "session.begin", sessionId: sessionOf(2) },
      { op: "state.put", state: freshState(1) },
      { op: "run.open", runId: "r" as RunId, body: runBody() },
    ];
    for (const op of ops) expect(await world.refused([op]), op.op).toBe("fenced");
  });

  storeTest("a change for an earlier session is refused once a later session has begun", open, async (world) => {
    const a = await world.agent("a");
    const old = { ...a.owner, sessionId: sessionOf(1) };
    await world.done([{ op: "session.begin", sessionId: sessionOf(2) }], old);
    expect(await world.refused([fact("f", "1")], old)).toBe("session");
    await world.done([fact("f", "2")], { ...a.owner, sessionId: sessionOf(2) });
    expect(await world.store.fact("f")).toBe("2");
    expect(await world.store.agent(a.id)).toMatchObject({ sessionId: sessionOf(2) });
  });

  storeTest("a change about an agent or run that does not exist is refused as missing", open, async (world) => {
    const a = await world.agent("a");
    const unknown = idOf("unknown");
    const run = "none" as RunId;
    expect(await world.refused([fact("f", "1")], { ...a.owner, agentId: unknown })).toBe("missing");
    expect(await world.refused([fact("f", "1")], { ...a.owner, run: { id: run, step: 1 } })).toBe("missing");
    expect(await world.refused([postOp({ agentId: unknown }, userBody("x"), 1)])).toBe("missing");
    expect(await world.refused([postOp({ sessionKey: keyOf("unknown") }, userBody("x"), 1)])).toBe("missing");
    expect(await world.refused([{ op: "agent.claim", agentId: unknown, node: world.node }])).toBe("missing");
    expect(await world.refused([{ op: "agent.stop", agentId: unknown, mark: null }])).toBe("missing");
    expect(await world.refused([{ op: "run.abort", runId: run, mark: { reason: "person", at: 1 } }])).toBe("missing");
  });

  storeTest("the outcome of an applied change equals the result of its commit", open, async (world) => {
    const change = world.change([
      fact("f", "1"),
      postOp({ sessionKey: keyOf("a"), create: world.seed("a") }, userBody("x"), 1, { claimFor: world.node }),
      fact("g", "1"),
    ]);
    const result = await world.store.commit(change);
    expect(await world.store.outcome(change.id)).toEqual(result);
    const silent = world.change([fact("f", "2")]);
    await world.store.commit(silent);
    const outcome = await world.store.outcome(silent.id);
    expect(outcome?.ok).toBe(true);
    expect(outcome?.ok && outcome.results[0]).toBeUndefined();
  });

  storeTest("a change that was refused or never submitted has no outcome", open, async (world) => {
    const refused = world.change([postOp({ agentId: idOf("unknown") }, userBody("x"), 1)]);
    expect(await world.store.commit(refused)).toMatchObject({ ok: false });
    expect(await world.store.outcome(refused.id)).toBeUndefined();
    expect(await world.store.outcome("never" as ChangeId)).toBeUndefined();
  });

  storeTest("reads see every commit that has resolved", open, async (world) => {
    const a = await world.agent("a");
    await Promise.all(
      Array.from({ length: 100 }, async (_, i) => {
        const { seq } = await world.post(a.id, userBody(`${i}`));
        expect(await world.store.message(a.id, seq)).toMatchObject({ state: "waiting", body: { text: `${i}` } });
      }),
    );
    expect(await world.store.agent(a.id)).toMatchObject({ nextSeq: 101, waiting: 100, cursor: 0 });
  });
}
