/** Retention walks every table in the same way: by key, portion after portion, and only what is older than the limit goes (M5). */
import { expect } from "vitest";
import type { DeliveryId, RunId } from "../../src/core/ids.ts";
import type { PersonId } from "../../src/core/people/person.ts";
import type { ApprovalId } from "../../src/core/rights/approval.ts";
import type { Op, Prunable } from "../../src/core/store/change.ts";
import { type Held, type Opener, postOp, runBody, START, storeTest, userBody, type World } from "./fixture.ts";

const FAR = START * 2;
/** The rows 1 to 3 are older than this, and row 4 is just as old. */
const LIMIT = START + 40;
const ROWS = [1, 2, 3, 4, 5, 6, 7] as const;
const timeOf = (n: number): number => START + 10 * n;

interface Walked {
  /** Makes a row that ends at the time. */
  readonly make: (world: World, n: number, at: number, held: Held) => Promise<unknown>;
  /** Whether the row is still there. */
  readonly has: (world: World, n: number, held: Held) => Promise<unknown>;
  readonly before?: (world: World, held: Held) => Promise<unknown>;
}

const done = (world: World, at: number, ops: readonly Op[], held?: Held): Promise<unknown> => {
  world.now = at;
  return world.done(ops, held?.owner);
};
const runOf = (n: number): RunId => `run-${n}` as RunId;
const deliveryOf = (n: number): DeliveryId => `d${n}` as DeliveryId;
const settle = (seq: number): Op => ({
  op: "message.settle",
  settlements: [{ seq, from: "waiting", state: "answered" }],
});
const keyed = (key: string, keepUntil: number) => ({ by: "key", key, digest: "digest", keepUntil }) as const;

const TABLES: Readonly<Record<Exclude<Prunable, "changes">, Walked>> = {
  messages: {
    before: (world, { id }) => world.done(ROWS.map((n) => postOp({ agentId: id }, userBody(`${n}`), START))),
    make: (world, n, at, held) => done(world, at, [settle(n)], held),
    has: (world, n, { id }) => world.store.message(id, n),
  },
  dedupe: {
    make: (world, n, at, { id }) =>
      world.done([postOp({ agentId: id }, userBody("x"), START, { dedupe: { key: `k${n}`, keepUntil: at } })]),
    // A key that is known makes the second message a duplicate.
    has: async (world, n, { id }) => {
      const dedupe = { key: `k${n}`, keepUntil: FAR };
      const [posted] = await world.done([postOp({ agentId: id }, userBody("x"), START, { dedupe })]);
      return (posted?.op === "message.post" && posted.duplicate) || undefined;
    },
  },
  runs: {
    make: async (world, n, at, held) => {
      await world.openRun(held, runOf(n));
      await done(world, at, [{ op: "run.end", runId: runOf(n), body: runBody(), outcome: "ok" }], held);
    },
    has: (world, n) => world.store.run(runOf(n)),
  },
  deliveries: {
    make: async (world, n, at, held) => {
      const delivery = { id: deliveryOf(n), agentId: held.id, target: {}, payload: { text: "x" }, createdAt: START };
      await world.done([{ op: "delivery.add", delivery }], held.owner);
      await done(world, at, [
        { op: "delivery.move", id: delivery.id, from: "pending", attempts: 0, to: "failed", reason: "test" },
      ]);
    },
    has: (world, n) => world.store.delivery(deliveryOf(n)),
  },
  requests: {
    make: (world, n, at) => world.done([{ op: "request.put", request: keyed(`k${n}`, at), reply: "{}" }]),
    has: (world, n) => world.store.request(`k${n}`),
  },
  slots: {
    make: (world, n, at) => {
      const slot = { jobId: "j", slot: `${n}`, revision: 1, dueAt: at, count: 1, status: "fired", at } as const;
      return world.done([{ op: "job.slot", slot }]);
    },
    has: (world, n) => world.store.jobSlot("j", `${n}`),
  },
  audit: {
    make: (world, n, at) => {
      const entry = { at, person: "ann", surface: "cli", action: "x", target: `${n}`, decision: "allow" } as const;
      return world.done([{ op: "audit.add", entry }]);
    },
    has: async (world, n) => (await world.store.audit({ limit: 10 })).find(({ target }) => target === `${n}`),
  },
  approvals: {
    before: (world, held) => world.openRun(held, "run"),
    make: async (world, n, at, held) => {
      const [id, digest] = [`a${n}` as ApprovalId, "digest"];
      const approval = {
        ...{ id, digest, agentId: held.id, runId: "run" as RunId, callId: `call-${n}`, tool: "exec", arguments: {} },
        ...{ behalf: { person: "ann" as PersonId }, prompt: "?", askedAt: START, dueAt: FAR },
      };
      await world.done([{ op: "approval.ask", approval }], held.owner);
      const answer = { from: "pending", to: "denied", by: "owner", surface: "cli" } as const;
      await done(world, at, [{ op: "approval.decide", id, digest, agentId: held.id, ...answer }]);
    },
    has: (world, n) => world.store.approval(`a${n}` as ApprovalId),
  },
  questions: {
    before: (world) =>
      // Neighbours in the order of keys that are not questions.
      world.done(["question", "question-", "question/", "question.~"].map((key) => fact(key, START))),
    make: (world, n, at) => world.done([fact(n === 1 ? "question." : `question.${n}`, at)]),
    has: (world, n) => world.store.fact(n === 1 ? "question." : `question.${n}`),
  },
};

const fact = (key: string, askedAt: number): Op => ({ op: "fact.put", key, value: JSON.stringify({ askedAt }) });

/** Walks a table in portions of two, as long as each names the next. */
async function walk(world: World, what: Prunable): Promise<readonly number[]> {
  const portions: number[] = [];
  let after: string | undefined;
  do {
    const [pruned] = await world.done([{ op: "prune", what, before: LIMIT, limit: 2, after }]);
    if (pruned?.op !== "prune") throw new Error("No answer.");
    portions.push(pruned.removed);
    after = pruned.next;
  } while (after !== undefined && portions.length < 20);
  return portions;
}

export function retentionWalkContract(open: Opener): void {
  for (const [what, { make, has, before }] of Object.entries(TABLES) as [keyof typeof TABLES, Walked][]) {
    storeTest(`what ended before the limit is pruned from the ${what}, two at a time`, open, async (world) => {
      const held = await world.agent("a");
      await before?.(world, held);
      for (const n of ROWS) await make(world, n, timeOf(n), held);
      if (what === "dedupe") await world.done(ROWS.map(settle), held.owner);
      if (what === "deliveries") {
        const newest = { id: deliveryOf(8), agentId: held.id, target: {}, payload: { text: "x" }, createdAt: START };
        await world.done([{ op: "delivery.add", delivery: newest }], held.owner);
      }
      expect(await world.store.eraser?.prunable(what, LIMIT)).toBe(3);
      const portions = await walk(world, what);
      expect(portions.slice(0, 4)).toEqual([2, 1, 0, 0]);
      // A store may leave out the newest delivery, which ends the walk one portion earlier.
      expect(portions.length).toBeLessThanOrEqual(what === "deliveries" ? 5 : 4);
      const left: number[] = [];
      for (const n of ROWS) if ((await has(world, n, held)) !== undefined) left.push(n);
      expect(left).toEqual([4, 5, 6, 7]);
      if (what !== "questions") return;
      for (const key of ["question", "question-", "question/", "question.~"])
        expect(await world.store.fact(key)).toBeDefined();
    });
  }

  storeTest(
    "messages of several agents are pruned each by its own time, in portions over all of them",
    open,
    async (world) => {
      const [a, b] = [await world.agent("a"), await world.agent("b")];
      for (const { id } of [a, b])
        await world.done([1, 2, 3].map((n) => postOp({ agentId: id }, userBody(`${n}`), START)));
      await done(world, START + 10, [settle(1), settle(3)], a);
      await done(world, START + 20, [settle(2)], b);
      await done(world, LIMIT + 10, [settle(3)], b);
      const portions = await walk(world, "messages");
      expect(portions).toEqual([1, 1, 1, 0]);
      const left = async ({ id }: Held) => (await world.store.messages(id, { limit: 9 })).map(({ seq }) => seq);
      expect([await left(a), await left(b)]).toEqual([[2], [3, 1]]);
    },
  );

  storeTest("a dedupe key waits for its own message, not for those of other agents", open, async (world) => {
    const [a, b] = [await world.agent("a"), await world.agent("b")];
    const post = ({ id }: Held, key: string): Op =>
      postOp({ agentId: id }, userBody(key), START, { dedupe: { key, keepUntil: START } });
    await world.done([post(a, "a1")]);
    await world.done([post(b, "b1")]);
    await world.done([post(b, "b2")]);
    await world.done([settle(1)], a.owner);
    await world.done([settle(2)], b.owner);
    expect(await walk(world, "dedupe")).toEqual([1, 1]);
    expect(await world.done([post(b, "b1")])).toMatchObject([{ duplicate: true, seq: 1 }]);
    expect(await world.done([post(a, "a1")])).toMatchObject([{ duplicate: false, seq: 2 }]);
  });
}
