/** The first row of each kind in a new store is in every list, and in every page that begins before it. */
import { expect } from "vitest";
import type { DeliveryContext } from "../../src/core/delivery/delivery.ts";
import { targetKey } from "../../src/core/delivery/target-key.ts";
import type { AgentId, DeliveryId, RunId } from "../../src/core/ids.ts";
import type { PersonId } from "../../src/core/people/person.ts";
import type { ApprovalId } from "../../src/core/rights/approval.ts";
import type { Op, Prunable } from "../../src/core/store/change.ts";
import { childOf, idOf, type Opener, postOp, runBody, START, storeTest, userBody } from "./fixture.ts";

const R = "r" as RunId;
const FAR = START * 2;
const TARGET: DeliveryContext = { channel: "test", to: "c" };

export function firstRowsContract(open: Opener): void {
  storeTest("the first agent of a store is in every list and is claimed", open, async (world) => {
    const { store, node } = world;
    const [id, p] = [idOf("c"), idOf("p")];
    await world.done([{ op: "agent.create", seed: world.seed("c", childOf(p, "c")) }]);
    await world.post(id);
    const after = idOf("none");
    const lists = await Promise.all([
      ...[store.agents({ limit: 9 }), store.agents({ limit: 9, after }), store.agents({ limit: 9, newest: true })],
      ...[store.agentsOfKind("subagent", { limit: 9 }), store.agentsOfKind("subagent", { limit: 9, after })],
      ...[store.busyAgents({ limit: 9 }), store.busyAgents({ limit: 9, after })],
      ...[store.children(p, { limit: 9 }), store.children(p, { limit: 9, after })],
      ...[store.eraser?.agents({ limit: 9 }) ?? [], store.eraser?.agents({ limit: 9, after }) ?? []],
    ]);
    expect(lists.map((list) => list.map((one) => one.id))).toEqual(lists.map(() => [id]));
    const claims = [{ agentId: id, epoch: 1 }];
    expect(await world.done([{ op: "agents.claim", node, limit: 9, after }])).toMatchObject([{ claims }]);
    expect(await world.done([{ op: "agents.claim", node, limit: 9 }])).toMatchObject([{ claims: [] }]);
    expect(await world.done([{ op: "agents.claim", node, limit: 9, own: true }])).toMatchObject([{ claims }]);
  });

  storeTest("the first delivery, run, question and audit row of a store are in every list", open, async (world) => {
    const { store } = world;
    const a = await world.agent("a");
    await world.openRun(a, R);
    const behalf = { person: "ann" as PersonId };
    const approval = { id: "p" as ApprovalId, agentId: a.id, runId: R, callId: "c", behalf, tool: "exec" };
    const delivery = { id: "d" as DeliveryId, agentId: a.id, payload: { text: "x" }, createdAt: START };
    await world.done(
      [
        {
          op: "approval.ask",
          approval: { ...approval, arguments: {}, digest: "d", prompt: "?", askedAt: 1, dueAt: 2 },
        },
        { op: "delivery.add", delivery: { ...delivery, target: TARGET, waits: { state: "waiting-reader" } } },
        { op: "audit.add", entry: { at: 1, person: "ann", surface: "cli", action: "exec", decision: "allow" } },
      ],
      a.owner,
    );
    const lists = await Promise.all([
      ...[store.deliveries({ limit: 9 }), store.deliveries({ limit: 9, agentId: a.id })],
      ...[store.deliveries({ limit: 9, states: ["waiting-reader"] })],
      ...[store.deliveries({ limit: 9, states: ["waiting-reader", "sent"] })],
      ...[store.mailbox(targetKey(TARGET), { limit: 9 }), store.mailboxesOf("test", { limit: 9 })],
      ...[store.approvals({ limit: 9 }), store.approvalsDue({ limit: 9 }), store.approvalsDue({ limit: 9, by: 2 })],
      ...[store.audit({ limit: 9 }), store.runs(a.id, { limit: 9 }), store.usageSince(0), store.usageSince(START)],
    ]);
    expect(lists.map((list) => list.length)).toEqual(lists.map(() => 1));
    expect(await store.approvalsDue({ limit: 9, by: 1 })).toEqual([]);
    await world.done([
      { op: "delivery.move", id: "d" as DeliveryId, from: "waiting-reader", attempts: 0, to: "pending" },
    ]);
    for (const states of [undefined, ["pending", "sending"], ["pending"]] as const)
      expect(await store.deliveries({ limit: 9, states }), String(states)).toHaveLength(1);
  });

  storeTest("the first row of each kind is counted and pruned", open, async (world) => {
    const a = await world.agent("a");
    await world.openRun(a, R);
    const dedupe = { key: "k", keepUntil: START };
    const request = { by: "key", key: "k", digest: "d", keepUntil: START } as const;
    await world.done([{ op: "request.put", request, reply: "1" }]);
    await world.done([postOp({ agentId: a.id }, userBody("x"), START, { dedupe })]);
    await world.done(
      [
        { op: "message.settle", settlements: [{ seq: 1, from: "waiting", state: "answered" }] },
        { op: "run.end", runId: R, body: runBody(), outcome: "ok" },
        { op: "audit.add", entry: { at: 1, person: "ann", surface: "cli", action: "exec", decision: "allow" } },
        { op: "fact.put", key: "question.1", value: '{"askedAt":1}' },
      ],
      a.owner,
    );
    const kinds: readonly Prunable[] = ["messages", "dedupe", "requests", "runs", "audit", "questions"];
    for (const what of kinds) {
      expect(await world.store.eraser?.prunable(what, FAR), what).toBe(1);
      expect(await world.done([{ op: "prune", what, before: FAR, limit: 9 }]), what).toMatchObject([{ removed: 1 }]);
      expect(await world.store.eraser?.prunable(what, FAR), what).toBe(0);
    }
  });

  storeTest(
    "messages that ended at the same time are listed in pages too, none twice and none left out",
    open,
    async (world) => {
      const held = [await world.agent("a"), await world.agent("b")] as const;
      for (const { id } of [...held, ...held, ...held]) await world.post(id);
      const drop = ({ id }: (typeof held)[0], seq: number): Op => ({
        op: "message.drop",
        agentId: id,
        seq,
        reason: "x",
      });
      await world.done([1, 2, 3].flatMap((seq) => held.map((one) => drop(one, seq))));
      const read = (before?: { at: number; agentId: AgentId; seq: number }, limit = 1) =>
        world.store.unanswered({ limit, states: ["dropped"], before });
      const all = await read(undefined, 9);
      // Each store has its own order for what ended together.
      const named = all.map(({ agentId, seq }) => `${agentId} ${seq}`);
      expect(named.sort()).toEqual(held.flatMap(({ id }) => [1, 2, 3].map((seq) => `${id} ${seq}`)));
      for (const [index, { settledAt: at = 0, agentId, seq }] of all.entries())
        expect(await read({ at, agentId, seq }, 9), `${agentId} ${seq}`).toEqual(all.slice(index + 1));
    },
  );
}
