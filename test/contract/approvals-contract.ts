/** Questions about calls and their answers, and runs that wait for them (M31). */
import { expect } from "vitest";
import type { DeliveryId, RunId } from "../../src/core/ids.ts";
import type { PersonId } from "../../src/core/people/person.ts";
import type { ApprovalId, NewApproval } from "../../src/core/rights/approval.ts";
import type { Op, Owner } from "../../src/core/store/change.ts";
import {
  type Held,
  keyOf,
  type Opener,
  resetBody,
  runBody,
  START,
  storeTest,
  userBody,
  type World,
} from "./fixture.ts";

const ANN = "ann" as PersonId;

const approval = (held: Held, id: string, rest: Partial<NewApproval> = {}): NewApproval => ({
  id: id as ApprovalId,
  agentId: held.id,
  runId: "run-1" as RunId,
  callId: `call-${id}`,
  behalf: { person: ANN },
  tool: "exec",
  arguments: { command: "date" },
  digest: `digest-${id}`,
  prompt: "Run date?",
  askedAt: START,
  dueAt: START + 10_000,
  ...rest,
});

const ask = (held: Held, id: string, rest?: Partial<NewApproval>): Op => ({
  op: "approval.ask",
  approval: approval(held, id, rest),
});

const decide = (held: Held, id: string, rest: Partial<Extract<Op, { op: "approval.decide" }>> = {}): Op => ({
  op: "approval.decide",
  id: id as ApprovalId,
  agentId: held.id,
  digest: `digest-${id}`,
  from: "pending",
  to: "approved",
  until: START + 50_000,
  by: "owner",
  surface: "cli",
  ...rest,
});

const USED_BY = { runId: "run-2" as RunId, callId: "c-2" };
const use = (id: string, digest = `digest-${id}`): Op => ({
  ...{ op: "approval.use", id: id as ApprovalId, digest, by: USED_BY },
});

async function suspended(world: World, name: string, ...ids: readonly string[]): Promise<{ held: Held; run: Owner }> {
  const held = await world.agent(name);
  const runId = await world.openRun(held, "run-1");
  const run: Owner = { ...held.owner, run: { id: runId, step: 1 } };
  await world.done(
    [
      ...ids.map((id) => ask(held, id)),
      { op: "run.step", runId, body: runBody([]) },
      { op: "run.suspend", runId, suspended: true },
      { op: "agent.release" },
    ],
    run,
  );
  return { held, run: { ...held.owner, run: { id: runId, step: 2 } } };
}

/** Claims the agent again. */
async function claimed(world: World, held: Held): Promise<Owner> {
  const [claim] = await world.done([{ op: "agent.claim", agentId: held.id, node: world.node }]);
  return { ...held.owner, epoch: claim?.op === "agent.claim" ? (claim.epoch ?? 0) : 0 };
}

export function approvalsContract(open: Opener): void {
  storeTest("a suspended agent is released, and busy only while a message waits", open, async (world) => {
    const { store } = world;
    const { held } = await suspended(world, "ann", "abcd");
    const busy = async () => (await store.busyAgents({ limit: 10 })).map(({ id }) => id);
    const read = await store.agent(held.id);
    expect(read).toMatchObject({ runId: "run-1", suspended: true });
    expect(read?.node).toBeUndefined();
    expect(await busy()).toEqual([]);
    expect(await world.done([{ op: "agents.claim", node: world.node, limit: 10 }])).toEqual([
      { op: "agents.claim", claims: [] },
    ]);
    await world.post(held.id, userBody("hello"));
    expect(await busy()).toEqual([held.id]);
    const owner = await claimed(world, held);
    // Its messages may be settled while the run waits; then it is idle again.
    const settle: Op = { op: "message.settle", settlements: [{ seq: 1, from: "waiting", state: "recorded" }] };
    expect(await world.done([settle, { op: "agent.release" }], owner)).toContainEqual({
      op: "agent.release",
      released: true,
    });
    expect(await busy()).toEqual([]);
    const again = await claimed(world, held);
    await world.done([{ op: "run.suspend", runId: "run-1" as RunId, suspended: false }], again);
    expect((await store.agent(held.id))?.suspended).toBeUndefined();
    expect(await busy()).toEqual([held.id]);
    expect(await world.done([{ op: "agent.release" }], again)).toEqual([{ op: "agent.release", released: false }]);
    await world.done([{ op: "run.suspend", runId: "run-1" as RunId, suspended: true }], again);
    await world.done([{ op: "run.end", runId: "run-1" as RunId, body: runBody([]), outcome: "ok" }], again);
    expect(await store.agent(held.id)).not.toHaveProperty("suspended", true);
  });

  storeTest("a call is asked about once, an id is never given twice", open, async (world) => {
    const { held } = await suspended(world, "ann", "abcd");
    const owner = await claimed(world, held);
    expect(await world.refused([ask(held, "abcd", { callId: "other" })], owner)).toBe("conflict");
    expect(await world.refused([ask(held, "efgh", { callId: "call-abcd" })], owner)).toBe("conflict");
    await world.done([ask(held, "efgh")], owner);
    expect(await world.store.approval("efgh" as ApprovalId)).toMatchObject({
      ...approval(held, "efgh"),
      state: "pending",
    });
  });

  storeTest("the first answer wins, and only for the call that was shown", open, async (world) => {
    const { held } = await suspended(world, "ann", "abcd", "efgh");
    expect(await world.refused([decide(held, "abcd", { digest: "another" })])).toBe("conflict");
    const both = await Promise.all([
      world.commit([decide(held, "abcd", { by: "owner" })]),
      world.commit([decide(held, "abcd", { to: "denied", by: "ann", reason: "no" })]),
    ]);
    expect(both.filter(({ ok }) => ok)).toHaveLength(1);
    const first = both[0]?.ok ? "approved" : "denied";
    expect(await world.store.approval("abcd" as ApprovalId)).toMatchObject({ state: first });
    expect(await world.refused([decide(held, "abcd", { to: "denied" })])).toBe("conflict");
    expect(await world.refused([decide(held, "nnnn")])).toBe("conflict");
    await world.done([decide(held, "efgh", { to: "denied", reason: "not today", until: undefined })]);
    expect(await world.store.approval("efgh" as ApprovalId)).toMatchObject({
      state: "denied",
      decidedBy: "owner",
      surface: "cli",
      reason: "not today",
    });
  });

  storeTest("a yes is used once, in time, by its agent, for its digest", open, async (world) => {
    const { store } = world;
    const { held } = await suspended(world, "ann", "abcd", "efgh");
    const other = await world.agent("bob");
    const owner = await claimed(world, held);
    expect(await world.refused([use("abcd")], owner)).toBe("conflict");
    await world.done([decide(held, "abcd"), decide(held, "efgh", { until: START + 1 })]);
    expect(await store.openApprovals(held.id)).toMatchObject([
      { id: "abcd", state: "approved", dueAt: START + 50_000 },
      { id: "efgh", state: "approved" },
    ]);
    expect(await store.openApprovals(other.id)).toEqual([]);
    expect(await world.refused([use("abcd", "digest-efgh")], owner)).toBe("conflict");
    expect(await world.refused([use("abcd")], other.owner)).toBe("conflict");
    expect(await world.refused([use("efgh")], owner)).toBe("conflict");
    const both = await Promise.all([world.commit([use("abcd")], owner), world.commit([use("abcd")], owner)]);
    expect(both.map(({ ok }) => ok).sort()).toEqual([false, true]);
    expect((await store.openApprovals(held.id)).map(({ id }) => id)).toEqual(["efgh"]);
    expect(await store.approval("abcd" as ApprovalId)).toMatchObject({ state: "used", used: USED_BY });
  });

  storeTest(
    "withdrawing ends every open row of the agent and makes a suspended run work again",
    open,
    async (world) => {
      const { store } = world;
      const { held } = await suspended(world, "ann", "abcd", "efgh", "mnpq");
      await world.done([decide(held, "efgh"), decide(held, "mnpq", { to: "denied" })]);
      const of = { sessionKey: keyOf("ann") };
      const results = await world.done([
        { op: "approval.withdraw", of, reason: "reset" },
        { op: "message.post", to: of, message: { body: resetBody, acceptedAt: world.now } },
      ]);
      expect(results[0]).toEqual({ op: "approval.withdraw", withdrawn: 2, woken: held.id });
      const states = (await store.approvals({ limit: 10 })).map(({ id, state, reason }) => [id, state, reason]);
      expect(states).toEqual([
        ["mnpq", "denied", undefined],
        ["efgh", "withdrawn", "reset"],
        ["abcd", "withdrawn", "reset"],
      ]);
      expect(await store.busyAgents({ limit: 10 })).toHaveLength(1);
      expect((await store.agent(held.id))?.suspended).toBeUndefined();
      expect(await world.refused([decide(held, "abcd")])).toBe("conflict");
      expect(await world.done([{ op: "approval.withdraw", of: { agentId: held.id }, reason: "again" }])).toEqual([
        { op: "approval.withdraw", withdrawn: 0 },
      ]);
      expect(await world.done([{ op: "approval.withdraw", of: { sessionKey: keyOf("carl") }, reason: "x" }])).toEqual([
        { op: "approval.withdraw", withdrawn: 0 },
      ]);
    },
  );

  storeTest("removing an agent withdraws its open rows", open, async (world) => {
    const { store } = world;
    const held = await world.agent("ann");
    const runId = await world.openRun(held, "run-1");
    const owner: Owner = { ...held.owner, run: { id: runId, step: 1 } };
    await world.done([ask(held, "abcd"), ask(held, "efgh")], owner);
    await world.done([decide(held, "efgh")]);
    await world.done([{ op: "run.end", runId, body: runBody([]), outcome: "ok" }], held.owner);
    await world.done([{ op: "agent.remove", agentId: held.id, reason: "gone" }]);
    expect(await store.openApprovals(held.id)).toEqual([]);
    expect((await store.approvals({ limit: 10 })).map(({ state, reason }) => [state, reason])).toEqual([
      ["withdrawn", "gone"],
      ["withdrawn", "gone"],
    ]);
    expect(await world.refused([decide(held, "abcd")])).toBe("conflict");
  });

  storeTest("one question can be withdrawn alone", open, async (world) => {
    const { held } = await suspended(world, "ann", "abcd", "efgh");
    const of = { agentId: held.id };
    const [result] = await world.done([{ op: "approval.withdraw", of, id: "efgh" as ApprovalId, reason: "x" }]);
    expect(result).toMatchObject({ withdrawn: 1 });
    expect((await world.store.openApprovals(held.id)).map(({ id }) => id)).toEqual(["abcd"]);
  });

  storeTest(
    "a withdrawn question that may have arrived gets one notice, also without its agent",
    open,
    async (world) => {
      const { store } = world;
      const { held } = await suspended(world, "ann", "abcd", "efgh", "mnpq");
      const at = { agentId: held.id };
      const shown = (id: string): Op => ({ op: "approval.shown", id: id as ApprovalId, ...at });
      const delivery = {
        ...{ id: "notice-1" as DeliveryId, ...at, target: { channel: "test", to: "owner" } },
        ...{ payload: { text: "no longer needed" }, createdAt: START },
      };
      const told = (id: string, rest: object = {}): Op => ({
        op: "approval.told",
        id: id as ApprovalId,
        ...at,
        ...rest,
      });
      const untold = async () => (await store.approvals({ untold: true, limit: 10 })).map(({ id }) => id);
      await world.done([shown("abcd"), shown("abcd"), shown("mnpq")]);
      expect(await store.approval("abcd" as ApprovalId)).toMatchObject({ shown: 2 });
      expect(await untold()).toEqual([]);
      expect(await world.refused([told("abcd")])).toBe("conflict");
      // An answer is the notice.
      await world.done([decide(held, "mnpq")]);
      await world.done([{ op: "approval.withdraw", of: at, reason: "stopped" }]);
      expect(await untold()).toEqual(["abcd"]);
      // One that arrives only now.
      await world.done([shown("efgh"), shown("mnpq")]);
      expect(await untold()).toEqual(["efgh", "abcd"]);
      await world.done([told("efgh", { delivery }), told("abcd")]);
      expect(await untold()).toEqual([]);
      expect(await store.delivery(delivery.id)).toMatchObject({ state: "pending", ...delivery });
      expect(await world.refused([told("efgh", { delivery: { ...delivery, id: "notice-2" } })])).toBe("conflict");
      await world.done([shown("efgh")]);
      expect(await untold()).toEqual([]);
    },
  );

  storeTest(
    "rows are listed by person and agent, by the time they end, and pruned when they have ended",
    open,
    async (world) => {
      const { store } = world;
      const { held } = await suspended(world, "ann", "abcd");
      const bob = await world.agent("bob");
      await world.openRun(bob, "run-2");
      const ofBob = { runId: "run-2" as RunId, behalf: { person: "bob" as PersonId }, dueAt: START + 5_000 };
      await world.done([ask(bob, "efgh", ofBob)], bob.owner);
      const ids = async (filter: Partial<Parameters<typeof store.approvals>[0]>) =>
        (await store.approvals({ limit: 10, ...filter })).map(({ id }) => id);
      expect(await ids({})).toEqual(["efgh", "abcd"]);
      expect(await ids({ person: ANN })).toEqual(["abcd"]);
      expect(await ids({ agentId: bob.id })).toEqual(["efgh"]);
      const [newest] = await store.approvals({ limit: 1 });
      expect(await ids({ beforeN: newest?.n })).toEqual(["abcd"]);
      const due = async (by?: number) => (await store.approvalsDue({ limit: 10, by })).map(({ id }) => id);
      expect(await due()).toEqual(["efgh", "abcd"]);
      expect(await due(START + 5_000)).toEqual(["efgh"]);
      // A yes is due when it may no longer be used.
      await world.done([decide(bob, "efgh")]);
      expect(await due()).toEqual(["abcd", "efgh"]);
      expect(await ids({ states: ["approved"] })).toEqual(["efgh"]);
      await world.done([decide(held, "abcd", { to: "expired", by: "system", until: undefined })]);
      expect(await due()).toEqual(["efgh"]);
      await world.done([{ op: "prune", what: "approvals", before: world.now + 1, limit: 10 }]);
      expect(await ids({})).toEqual(["efgh"]);
    },
  );
}
