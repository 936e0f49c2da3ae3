/** The inbox: sequences, session keys, dedupe, message states, and the agent that got a message last (M3, M4, M5). */
import { expect } from "vitest";
import type { AgentId, RunId } from "../../src/core/ids.ts";
import type { Message, MessageState } from "../../src/core/message/message.ts";
import type { Posted } from "../../src/core/store/change.ts";
import type { RequestEntry } from "../../src/core/store/request.ts";
import {
  idOf,
  keyOf,
  type Opener,
  postedIn,
  postOp,
  reopened,
  resetBody,
  START,
  storeTest,
  userBody,
  type World,
} from "./fixture.ts";

const ENDS = ["answered", "recorded", "merged", "dropped", "failed", "aborted", "discarded", "removed"] as const;

export function inboxContract(open: Opener): void {
  storeTest("sequences are dense and ordered per agent, also with concurrent posts", open, async (world) => {
    const agents = [await world.agent("a"), await world.agent("b"), await world.agent("c")];
    const posts = Array.from({ length: 120 }, (_, i) => {
      const agent = agents[i % 3];
      if (!agent) throw new Error("No agent.");
      return world.post(agent.id, userBody(`${i}`));
    });
    await Promise.all(posts);
    for (const [index, agent] of agents.entries()) {
      const waiting = await world.store.waiting(agent.id, { limit: 100 });
      expect(waiting.map((message) => message.seq)).toEqual(Array.from({ length: 40 }, (_, i) => i + 1));
      expect(waiting.map((message) => message.body)).toEqual(
        Array.from({ length: 40 }, (_, i) => userBody(`${3 * i + index}`)),
      );
    }
  });

  storeTest(
    "messages without an answer are listed over all agents, the latest first, in pages",
    open,
    async (world) => {
      const held = [await world.agent("a"), await world.agent("b")] as const;
      const states = ["dropped", "failed", "aborted", "discarded"] as const;
      for (const [n, state] of [...states, "answered" as const].entries()) {
        const agent = held[n % 2] as (typeof held)[0];
        const { seq } = await world.post(agent.id, userBody(state));
        await world.done(
          [{ op: "message.settle", settlements: [{ seq, from: "waiting", state, reason: "r" }] }],
          agent.owner,
        );
      }
      const all = await world.store.unanswered({ limit: 10, states });
      expect(all.map(({ state }) => state).sort()).toEqual([...states].sort());
      expect(all.map(({ settledAt = 0 }) => settledAt)).toEqual(
        all.map(({ settledAt = 0 }) => settledAt).sort((a, b) => b - a),
      );
      const paged = [];
      for (let before: { at: number; agentId: AgentId; seq: number } | undefined; ; ) {
        const [one] = await world.store.unanswered({ limit: 1, states, before });
        if (!one) break;
        paged.push(one);
        before = { at: one.settledAt ?? 0, agentId: one.agentId, seq: one.seq };
      }
      expect(paged).toEqual(all);
      expect((await world.store.unanswered({ limit: 10, states: ["failed"] })).map(({ state }) => state)).toEqual([
        "failed",
      ]);
    },
  );

  storeTest("a person drops a message that waits, once, whoever holds the agent", open, async (world) => {
    const a = await world.agent("a");
    const { seq } = await world.post(a.id, userBody("first"));
    const { seq: taken } = await world.post(a.id, userBody("second"));
    const drop = (of: number) => ({ op: "message.drop", agentId: a.id, seq: of, reason: "dropped by owner" }) as const;
    await world.done([{ op: "message.take", runId: "r" as RunId, seqs: [taken] }], a.owner);
    const tries = await Promise.all([
      world.commit([drop(seq)]),
      world.commit([drop(seq)]),
      world.commit([drop(taken)]),
    ]);
    expect(tries.map((one) => (one.ok ? "dropped" : one.refused)).sort()).toEqual(["conflict", "conflict", "dropped"]);
    const message = await world.store.message(a.id, seq);
    expect(message).toMatchObject({ state: "dropped", reason: "dropped by owner", settledAt: expect.any(Number) });
    expect(message?.runId).toBeUndefined();
    expect(await world.store.message(a.id, taken)).toMatchObject({ state: "taken" });
    expect(await world.store.agent(a.id)).toMatchObject({ waiting: 0, cursor: taken });
    // The holder can still release it: the counters are those of the store.
    expect(await world.commit([{ op: "message.drop", agentId: idOf("none"), seq: 1, reason: "x" }])).toMatchObject({
      ok: false,
      refused: "missing",
    });
  });

  storeTest("counts a failed try of a message that waits, and changes nothing else of it", open, async (world) => {
    const a = await world.agent("a");
    const { seq } = await world.post(a.id, userBody("first\0\ud800"));
    const before = await world.store.message(a.id, seq);
    const { body, acceptedAt } = before as Message;
    const tried = { times: 1, reason: "no\0 colour", nextAt: 7 };
    const op = (of: number) => ({ op: "message.tried", seq: of, message: { body, acceptedAt, tried } }) as const;
    await world.done([op(seq)], a.owner);
    expect(await world.store.message(a.id, seq)).toEqual({ ...before, tried });
    expect(await world.store.waiting(a.id, { limit: 2 })).toEqual([{ ...before, tried }]);
    expect(await world.store.agent(a.id)).toMatchObject({ waiting: 1, cursor: seq - 1 });
    expect(await world.refused([op(seq + 1)], a.owner)).toBe("conflict");
    await world.done([{ op: "message.take", runId: "r" as RunId, seqs: [seq] }], a.owner);
    expect(await world.refused([op(seq)], a.owner)).toBe("conflict");
    expect(await world.refused([op(seq)])).toBe("fenced");
  });

  storeTest(
    "an agent whose last message was dropped is released, and no node finds work there",
    open,
    async (world) => {
      const a = await world.agent("a");
      const { seq } = await world.post(a.id, userBody("first"));
      await world.done([{ op: "message.drop", agentId: a.id, seq, reason: "dropped by owner" }]);
      const [released] = await world.done([{ op: "agent.release" }], a.owner);
      expect(released).toMatchObject({ released: true });
      expect(await world.store.busyAgents({ limit: 10 })).toEqual([]);
    },
  );

  storeTest("refuses posts to a full inbox, stores nothing of them, and takes them later", open, async (world) => {
    const a = await world.agent("a");
    const request = (n: number): RequestEntry => ({ by: "key", key: `k${n}`, digest: "d", keepUntil: START * 2 });
    const post = (n: number, more: object = {}) =>
      world.commit([
        { op: "fact.put", key: `beside ${n}`, value: "x" },
        postOp({ agentId: a.id }, userBody(`${n}`), world.now, { request: request(n), maxWaiting: 5, ...more }),
      ]);
    const burst = await Promise.all(Array.from({ length: 20 }, (_, n) => post(n)));
    expect(burst.filter(({ ok }) => ok)).toHaveLength(5);
    expect(new Set(burst.flatMap((one) => (one.ok ? [] : [one.refused])))).toEqual(new Set(["full"]));
    expect(await world.store.agent(a.id)).toMatchObject({ nextSeq: 6, waiting: 5 });
    for (const [n, one] of burst.entries()) {
      expect((await world.store.request(`k${n}`)) !== undefined).toBe(one.ok);
      expect(await world.store.fact(`beside ${n}`)).toBe(one.ok ? "x" : undefined);
      // One that was accepted is known even while the inbox is full.
      expect((await post(n)).ok).toBe(one.ok);
    }
    expect(await world.store.agent(a.id)).toMatchObject({ nextSeq: 6, waiting: 5 });
    // A post without a limit is accepted, and counts.
    expect((await post(20, { maxWaiting: undefined })).ok).toBe(true);
    await world.done([{ op: "message.take", runId: "r" as RunId, seqs: [1] }], a.owner);
    expect(await post(21)).toMatchObject({ ok: false, refused: "full" });
    await world.done([{ op: "message.take", runId: "r" as RunId, seqs: [2] }], a.owner);
    expect((await post(21)).ok).toBe(true);
  });

  storeTest("two first messages under one session key make one agent", open, async (world) => {
    const first = await postFirst(world, "first");
    const second = await postFirst(world, "second");
    expect(first).toMatchObject({ seq: 1, created: true, agentId: idOf("first") });
    expect(second).toMatchObject({ seq: 2, created: false, agentId: idOf("first") });
    expect(await world.store.agent(idOf("second"))).toBeUndefined();
  });

  storeTest("two hundred first messages at once make one agent with dense sequences", open, async (world) => {
    const posted = await Promise.all(Array.from({ length: 200 }, (_, i) => postFirst(world, `n${i}`)));
    expect(new Set(posted.map((one) => one.agentId)).size).toBe(1);
    expect(posted.filter((one) => one.created)).toHaveLength(1);
    expect(posted.map((one) => one.seq).sort((a, b) => a - b)).toEqual(Array.from({ length: 200 }, (_, i) => i + 1));
    expect(await world.store.agents({ limit: 10 })).toHaveLength(1);
    expect(await world.store.agentByKey(keyOf("shared"))).toMatchObject({ nextSeq: 201, waiting: 200 });
  });

  storeTest("creating an agent under a session key in use returns the existing agent", open, async (world) => {
    const seed = world.seed("a");
    const [made] = await world.done([{ op: "agent.create", seed }]);
    expect(made).toEqual({ op: "agent.create", agentId: seed.id, created: true });
    const [again] = await world.done([{ op: "agent.create", seed: { ...seed, id: idOf("other") } }]);
    expect(again).toEqual({ op: "agent.create", agentId: seed.id, created: false });
    expect(await world.store.agents({ limit: 10 })).toHaveLength(1);
  });

  storeTest(
    "a message seen before is reported as a duplicate, with the sequence of the first one",
    open,
    async (world) => {
      const dedupe = (key: string) => ({ dedupe: { key, keepUntil: START * 2 } });
      const post = async (name: string, key: string) =>
        postedIn(
          await world.done([
            postOp({ sessionKey: keyOf(name), create: world.seed(name) }, userBody(key), world.now, dedupe(key)),
          ]),
        );
      const first = await post("a", "m1");
      expect(first).toMatchObject({ agentId: idOf("a"), seq: 1, duplicate: false, created: true });
      expect(await post("a", "m1")).toMatchObject({ agentId: idOf("a"), seq: 1, duplicate: true, created: false });
      expect(await post("a", "m1/revision 2")).toMatchObject({ seq: 2, duplicate: false });
      // The same message under another address is still the same message, and creates no agent.
      expect(await post("b", "m1")).toMatchObject({ agentId: idOf("a"), seq: 1, duplicate: true, created: false });
      expect(await world.store.agent(idOf("b"))).toBeUndefined();
      expect(await world.store.agent(idOf("a"))).toMatchObject({ nextSeq: 3, waiting: 2 });
    },
  );

  storeTest("of many concurrent redeliveries only one is accepted", open, async (world) => {
    const a = await world.agent("a");
    const posted = await Promise.all(
      Array.from({ length: 50 }, async () =>
        postedIn(
          await world.done([
            postOp({ agentId: a.id }, userBody("x"), world.now, { dedupe: { key: "k", keepUntil: START * 2 } }),
          ]),
        ),
      ),
    );
    expect(posted.filter((one) => !one.duplicate)).toHaveLength(1);
    expect(posted.every((one) => one.seq === 1 && one.agentId === a.id)).toBe(true);
    expect(await world.store.agent(a.id)).toMatchObject({ nextSeq: 2, waiting: 1 });
  });

  storeTest(
    "a message moves once from waiting to taken to an end state, with its run and its reason",
    open,
    async (world) => {
      const a = await world.agent("a");
      for (const end of ENDS) {
        const { seq } = await world.post(a.id);
        await world.done([{ op: "message.take", runId: `run-${end}` as RunId, seqs: [seq] }], a.owner);
        expect(await world.store.message(a.id, seq)).toMatchObject({ state: "taken", runId: `run-${end}` });
        expect(await world.refused([{ op: "message.take", runId: "z" as RunId, seqs: [seq] }], a.owner)).toBe(
          "conflict",
        );
        expect(await settle(world, a, seq, "waiting", end)).toBe("conflict");
        expect(await settle(world, a, seq, "taken", end, "because")).toBe("ok");
        expect(await settle(world, a, seq, "taken", end)).toBe("conflict");
        const message = await world.store.message(a.id, seq);
        expect(message).toMatchObject({ state: end, runId: `run-${end}`, reason: "because" });
        expect(message?.settledAt).toBeGreaterThanOrEqual(START);
      }
      expect(await world.store.agent(a.id)).toMatchObject({ waiting: 0, cursor: ENDS.length });
    },
  );

  storeTest("a take is refused if a reset waits that the owner has not seen", open, async (world) => {
    const a = await world.agent("a");
    const { seq } = await world.post(a.id);
    const take = (unlessResetAfter: number) =>
      [{ op: "message.take", runId: "r" as RunId, seqs: [seq], unlessResetAfter }] as const;
    await world.post(a.id, { kind: "stop" });
    const reset = await world.post(a.id, { kind: "reset", by: "person" });
    expect(await world.refused(take(seq), a.owner)).toBe("conflict");
    expect(await world.store.message(a.id, seq)).toMatchObject({ state: "waiting" });
    expect(await settle(world, a, reset.seq, "waiting", "recorded")).toBe("ok");
    await world.done(take(seq), a.owner);
    expect(await world.store.message(a.id, seq)).toMatchObject({ state: "taken" });
  });

  storeTest("a settled message names the run that settled it, or the one that took it", open, async (world) => {
    const a = await world.agent("a");
    const [one, two, three] = [await world.post(a.id), await world.post(a.id), await world.post(a.id)];
    const runId = await world.openRun(a, "r", [one.seq]);
    const settled = { from: "waiting", state: "merged" } as const;
    await world.done(
      [
        {
          op: "message.settle",
          settlements: [
            { seq: one.seq, from: "taken", state: "answered" },
            { seq: two.seq, ...settled, runId },
            { seq: three.seq, ...settled, reason: "of no run" },
          ],
        },
      ],
      a.owner,
    );
    const read = async (seq: number) => {
      const message = await world.store.message(a.id, seq);
      return [message?.runId, message?.reason, typeof message?.settledAt];
    };
    expect(await Promise.all([one, two, three].map(({ seq }) => read(seq)))).toEqual([
      ["r", undefined, "number"],
      ["r", undefined, "number"],
      [undefined, "of no run", "number"],
    ]);
  });

  storeTest("a waiting message can be settled without having been taken", open, async (world) => {
    const a = await world.agent("a");
    for (const end of ENDS) {
      const { seq } = await world.post(a.id);
      expect(await settle(world, a, seq, "waiting", end)).toBe("ok");
      expect(await world.store.message(a.id, seq)).toMatchObject({ state: end });
      expect(await settle(world, a, seq, "waiting", end)).toBe("conflict");
    }
    expect(await world.store.agent(a.id)).toMatchObject({ waiting: 0, cursor: ENDS.length });
  });

  storeTest(
    "urgent messages are listed separately and overtake others without moving the cursor",
    open,
    async (world) => {
      const a = await world.agent("a");
      for (const body of [userBody("1"), userBody("2"), resetBody, userBody("4")]) await world.post(a.id, body);
      const urgent = await world.store.waiting(a.id, { limit: 10, urgent: true });
      expect(urgent.map((message) => message.seq)).toEqual([3]);
      await world.done([{ op: "message.take", runId: "r" as RunId, seqs: [3] }], a.owner);
      expect(await world.store.agent(a.id)).toMatchObject({ cursor: 0, waiting: 3 });
      expect(await world.store.waiting(a.id, { limit: 10, urgent: true })).toEqual([]);
      await world.done([{ op: "message.take", runId: "r" as RunId, seqs: [1, 2] }], a.owner);
      expect(await world.store.agent(a.id)).toMatchObject({ cursor: 3, waiting: 1 });
      expect((await world.store.waiting(a.id, { limit: 10 })).map((message) => message.seq)).toEqual([4]);
    },
  );

  storeTest("messages are listed newest first, by state and in pages", open, async (world) => {
    const a = await world.agent("a");
    for (let i = 1; i <= 6; i++) await world.post(a.id, userBody(`${i}`));
    await settle(world, a, 2, "waiting", "dropped");
    await settle(world, a, 4, "waiting", "answered");
    const seqs = async (page: { limit: number; beforeSeq?: number; states?: MessageState[] }) =>
      (await world.store.messages(a.id, page)).map((message) => message.seq);
    expect(await seqs({ limit: 4 })).toEqual([6, 5, 4, 3]);
    expect(await seqs({ limit: 4, beforeSeq: 3 })).toEqual([2, 1]);
    expect(await seqs({ limit: 4, states: ["dropped", "answered"] })).toEqual([4, 2]);
    const after = await world.store.waiting(a.id, { limit: 2, afterSeq: 1 });
    expect(after.map((message) => message.seq)).toEqual([3, 5]);
  });

  storeTest(
    "only messages from people change the most recent foreground agent, also after reopening",
    open,
    async (world, opened, context) => {
      const a = await world.agent("a");
      const b = await world.agent("b");
      const cron = await world.agent("c", { type: "cron", id: "job" });
      const foreground = async () => (await world.store.agentFor("most-recent-foreground"))?.id;
      expect(await foreground()).toBeUndefined();
      await world.post(a.id);
      expect(await foreground()).toBe(a.id);
      await world.post(b.id);
      expect(await foreground()).toBe(b.id);
      await world.post(a.id, { kind: "system", text: "s" });
      await world.post(a.id, { kind: "system", text: "s", silent: true });
      await world.post(a.id, { kind: "trigger", text: "t", trigger: { type: "cron", id: "j" } });
      await world.post(a.id, resetBody);
      await world.post(cron.id);
      expect(await foreground()).toBe(b.id);
      expect((await world.store.agent(cron.id))?.lastHumanAt).toBeUndefined();
      await reopened(world, opened, context);
      expect(await foreground()).toBe(b.id);
      await world.post(a.id);
      expect(await foreground()).toBe(a.id);
    },
  );

  storeTest("the heartbeat strategy returns the newest heartbeat agent", open, async (world) => {
    expect(await world.store.agentFor("heartbeat")).toBeUndefined();
    await world.agent("before");
    expect(await world.store.agentFor("heartbeat")).toBeUndefined();
    await world.agent("h", { type: "heartbeat" });
    expect(await world.store.agentFor("heartbeat")).toMatchObject({ id: idOf("h") });
    const newer = await world.agent("newer", { type: "heartbeat" });
    await world.agent("after");
    expect(await world.store.agentFor("heartbeat")).toMatchObject({ id: newer.id });
    await world.done([{ op: "agent.remove", agentId: newer.id, reason: "test" }]);
    expect(await world.store.agentFor("heartbeat")).toMatchObject({ id: idOf("h") });
  });
}

async function postFirst(world: World, name: string): Promise<Posted> {
  const create = { ...world.seed(name), sessionKey: keyOf("shared") };
  return postedIn(await world.done([postOp({ sessionKey: keyOf("shared"), create }, userBody(name), world.now)]));
}

async function settle(
  world: World,
  held: { owner: Parameters<World["commit"]>[1] },
  seq: number,
  from: "waiting" | "taken",
  state: (typeof ENDS)[number],
  reason?: string,
): Promise<string> {
  const result = await world.commit(
    [{ op: "message.settle", settlements: [{ seq, from, state, reason }] }],
    held.owner,
  );
  return result.ok ? "ok" : result.refused;
}
