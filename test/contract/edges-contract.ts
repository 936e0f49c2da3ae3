/** Single cases of agents, runs and swarms that the rules decide one way or the other: the first, the last, the only one. */
import { expect } from "vitest";
import type { RunId } from "../../src/core/ids.ts";
import type { Op } from "../../src/core/store/change.ts";
import { childOf, type Held, idOf, type Opener, postOp, runBody, START, storeTest, userBody } from "./fixture.ts";

const R = "r" as RunId;

export function edgesContract(open: Opener): void {
  storeTest(
    "only a person's message to an agent that talks to people makes it recent, and never less recent",
    open,
    async (world) => {
      const [a, child] = [await world.agent("a"), await world.agent("c", childOf(idOf("a"), "c"))];
      const post = (to: Held, time: number, body = userBody("x")) =>
        world.done([postOp({ agentId: to.id }, body, time)]);
      const lastOf = async ({ id }: Held) => (await world.store.agent(id))?.lastHumanAt;
      await post(a, START + 5, { kind: "system", text: "event", silent: true });
      expect(await lastOf(a)).toBeUndefined();
      await post(a, START + 50);
      await post(a, START + 20);
      await post(child, START + 60);
      expect([await lastOf(a), await lastOf(child)]).toEqual([START + 50, undefined]);
    },
  );

  storeTest("a person's message at the beginning of time is as old as it says", open, async (world) => {
    const a = await world.agent("a");
    await world.done([postOp({ agentId: a.id }, userBody("x"), 0)]);
    expect((await world.store.agent(a.id))?.lastHumanAt).toBe(0);
  });

  storeTest(
    "a message to an agent that was removed is refused, also if it was accepted before",
    open,
    async (world) => {
      const a = await world.agent("a");
      const dedupe = { key: "test:x", keepUntil: START + 1_000 };
      const post = (to: Held): Op => ({ ...postOp({ agentId: to.id }, userBody("x"), START), dedupe }) as Op;
      expect(await world.done([post(a)])).toMatchObject([{ duplicate: false }]);
      expect(await world.done([post(a)])).toMatchObject([{ duplicate: true, seq: 1 }]);
      await world.done([{ op: "message.drop", agentId: a.id, seq: 1, reason: "x" }]);
      await world.done([{ op: "agent.remove", agentId: a.id, reason: "x" }]);
      expect(await world.refused([post(a)])).toBe("missing");
      expect(await world.done([post(await world.agent("b"))])).toMatchObject([{ duplicate: true }]);
    },
  );

  storeTest("a take is refused if the newest message is a reset that its owner has not seen", open, async (world) => {
    const a = await world.agent("a");
    await world.post(a.id);
    await world.post(a.id, { kind: "reset", by: "person" });
    await world.done([{ op: "run.open", runId: R, body: runBody() }], a.owner);
    const take = (unlessResetAfter: number): Op => ({ op: "message.take", runId: R, seqs: [1], unlessResetAfter });
    expect(await world.refused([take(1)], a.owner)).toBe("conflict");
    await world.done([take(2)], a.owner);
  });

  storeTest("a run that used nothing counts as nothing after a step, an amendment and its end", open, async (world) => {
    const a = await world.agent("a");
    await world.openRun(a, R);
    const nothing = [{ agentId: a.id, runs: 1, tokens: 0, cost: 0 }];
    const run = { runId: R, body: runBody() };
    const ops: readonly Op[] = [
      { op: "run.step", ...run },
      { op: "run.amend", ...run },
      { op: "run.end", ...run, outcome: "ok" },
    ];
    for (const op of ops) {
      await world.done([op], a.owner);
      expect(await world.store.usageSince(0)).toMatchObject(nothing);
    }
  });

  storeTest("before any person is recorded, decisions name the revision 0", open, async (world) => {
    const a = await world.agent("a");
    const begin: Op = { op: "run.open", runId: R, body: runBody() };
    expect(await world.refused([begin], { ...a.owner, rights: 1 })).toBe("rights");
    await world.done([begin], { ...a.owner, rights: 0 });
  });

  storeTest("an agent that was removed is erased without the agent that has its key by now", open, async (world) => {
    const a = await world.agent("a");
    await world.done([{ op: "agent.remove", agentId: a.id, reason: "x" }]);
    const left = await world.store.agent(a.id);
    expect(left).toMatchObject({ epoch: a.owner.epoch + 1, nextPos: 0 });
    const seed = { ...world.seed("a"), id: idOf("next") };
    await world.done([{ op: "agent.create", seed, fresh: true }]);
    await world.done([{ op: "agent.erase", agentId: a.id, tombstone: "gone" }]);
    expect((await world.store.agentByKey(seed.sessionKey))?.id).toBe(seed.id);
    const erased = await world.store.agent(a.id);
    expect(erased).toMatchObject({ epoch: a.owner.epoch + 2, nextPos: 0, waiting: 0, cursor: 0 });
  });

  storeTest(
    "after the last message is dropped or settled an agent is no longer busy, and its cursor is at the end",
    open,
    async (world) => {
      const a = await world.agent("a");
      const idle = async (cursor: number) => {
        expect(await world.store.busyAgents({ limit: 5 })).toEqual([]);
        expect(await world.store.agent(a.id)).toMatchObject({ waiting: 0, cursor });
      };
      const NOTHING: Op = { op: "wait.end", id: "none" };
      await world.post(a.id);
      await world.done([{ op: "message.drop", agentId: a.id, seq: 1, reason: "x" }]);
      await idle(1);
      await world.post(a.id);
      await world.done(
        [{ op: "message.settle", settlements: [{ seq: 2, from: "waiting", state: "failed" }] }, NOTHING],
        a.owner,
      );
      await idle(2);
      for (let n = 3; n <= 6; n++) await world.post(a.id);
      await world.done([{ op: "message.drop", agentId: a.id, seq: 3, reason: "x" }]);
      expect(await world.store.agent(a.id)).toMatchObject({ waiting: 3, cursor: 3 });
      expect((await world.store.busyAgents({ limit: 5 })).map(({ id }) => id)).toEqual([a.id]);
      await world.done(
        [{ op: "run.open", runId: R, body: runBody() }, { op: "message.take", runId: R, seqs: [4] }, NOTHING],
        a.owner,
      );
      expect(await world.store.agent(a.id)).toMatchObject({ waiting: 2, cursor: 4 });
      await world.done([{ op: "message.take", runId: R, seqs: [5, 6] }, NOTHING], a.owner);
      expect(await world.store.agent(a.id)).toMatchObject({ waiting: 0, cursor: 6 });
      expect(await world.store.busyAgents({ limit: 5 })).toHaveLength(1);
      expect(await world.refused([{ op: "agent.remove", agentId: a.id, reason: "x" }])).toBe("conflict");
      await world.done([{ op: "run.suspend", runId: R, suspended: true }, NOTHING], a.owner);
      expect(await world.store.busyAgents({ limit: 5 })).toEqual([]);
    },
  );

  storeTest("an agent with one message left is busy, whichever way the others went", open, async (world) => {
    const a = await world.agent("a");
    const busy = async () => (await world.store.busyAgents({ limit: 5 })).length;
    const NOTHING: Op = { op: "wait.end", id: "none" };
    const settle = (seq: number): Op => ({
      op: "message.settle",
      settlements: [{ seq, from: "waiting", state: "failed" }],
    });
    for (let n = 1; n <= 5; n++) await world.post(a.id);
    await world.done([settle(1)], a.owner);
    expect(await world.store.agent(a.id)).toMatchObject({ waiting: 4, cursor: 1 });
    await world.done([settle(3)], a.owner);
    expect(await world.store.agent(a.id)).toMatchObject({ waiting: 3, cursor: 1 });
    await world.done([settle(2), NOTHING], a.owner);
    expect(await world.store.agent(a.id)).toMatchObject({ waiting: 2, cursor: 3 });
    await world.done([{ op: "message.drop", agentId: a.id, seq: 5, reason: "x" }]);
    expect(await world.store.agent(a.id)).toMatchObject({ waiting: 1, cursor: 3 });
    expect(await busy()).toBe(1);
    await world.post(a.id);
    await world.done([settle(4), NOTHING], a.owner);
    expect(await busy()).toBe(1);
    expect(await world.store.agent(a.id)).toMatchObject({ waiting: 1, cursor: 5 });
    await world.done([{ op: "run.open", runId: R, body: runBody() }], a.owner);
    expect(await world.refused([{ op: "run.suspend", runId: "s" as RunId, suspended: true }], a.owner)).toBe("run");
    await world.done([{ op: "run.suspend", runId: R, suspended: true }], a.owner);
    expect(await busy()).toBe(1);
    await world.done([{ op: "message.drop", agentId: a.id, seq: 6, reason: "x" }]);
    expect(await busy()).toBe(0);
  });

  storeTest("the lines of a new agent begin at position 0", open, async (world) => {
    const a = await world.agent("a");
    const positions = (await world.store.linesBack(a.id, { limit: 9 })).map(({ position }) => position);
    expect(positions.toSorted()).toEqual([0, 1]);
  });

  storeTest("a contact of another swarm is not known here, and one that may be new is made", open, async (world) => {
    const swarm = (nametag: string) => ({
      ...{
        nametag,
        owner: idOf("o"),
        profile: "main",
        firstName: "D",
        systemPrompt: "x",
        memory: false,
        createdAt: START,
      },
    });
    await world.done(["s", "t"].map((name): Op => ({ op: "swarm.put", swarm: swarm(name) })));
    const contact = (nametag: string, name: string, known: boolean): Op => ({
      ...{ op: "swarm.contact", nametag, contact: idOf(name), received: 1, known },
    });
    await world.done([contact("s", "ann", false), contact("t", "bob", false)]);
    expect(await world.refused([contact("t", "ann", true)])).toBe("missing");
    await world.done([contact("t", "bob", true)]);
    expect(await world.store.swarmContact("t", idOf("bob"))).toMatchObject({ messagesReceived: 2 });
  });
}
