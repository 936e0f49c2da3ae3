/** Ownership of agents: claims, leases, releases and stops (M3, M7, M20, M23). */
import { expect } from "vitest";
import type { AgentId, RunId } from "../../src/core/ids.ts";
import {
  childOf,
  type Held,
  idOf,
  keyOf,
  LEASE_MS,
  type Opener,
  postedIn,
  postOp,
  runBody,
  storeTest,
  userBody,
  type World,
} from "./fixture.ts";

export function ownershipContract(open: Opener): void {
  storeTest("an agent without an owner can be claimed, and each new owner raises the epoch", open, async (world) => {
    await world.done([{ op: "agent.create", seed: world.seed("a") }]);
    const id = idOf("a");
    expect(await world.store.agent(id)).toMatchObject({ epoch: 0 });
    expect((await world.store.agent(id))?.node).toBeUndefined();
    expect(await claim(world, id, world.node)).toBe(1);
    expect(await claim(world, id, world.node)).toBe(1);
    expect(await world.store.agent(id)).toMatchObject({ node: world.node, epoch: 1 });
    await world.done([{ op: "agent.release" }], { agentId: id, node: world.node, epoch: 1 });
    expect(await claim(world, id, world.node)).toBe(2);
  });

  storeTest("no other node can claim an agent of a live node until that node leaves", open, async (world) => {
    const a = await world.agent("a");
    const other = await world.join("other");
    expect(await claim(world, a.id, other)).toBeUndefined();
    expect(await world.store.agent(a.id)).toMatchObject({ node: world.node, epoch: a.owner.epoch });
    await world.done([{ op: "node.leave", node: world.node }]);
    expect(await claim(world, a.id, other)).toBe(a.owner.epoch + 1);
    expect(await world.refused([{ op: "message.settle", settlements: [] }], a.owner)).toBe("fenced");
  });

  storeTest("an owner gives its agent, with what waits, to another live node, and to no other", open, async (world) => {
    const a = await world.agent("a");
    await world.post(a.id);
    const other = await world.join("other");
    const gone = await world.join("gone");
    await world.done([{ op: "node.leave", node: gone }]);
    expect(await world.refused([{ op: "agent.hand", to: gone }], a.owner)).toBe("missing");
    await world.done([{ op: "agent.hand", to: other }], a.owner);
    expect(await world.store.agent(a.id)).toMatchObject({ node: other, epoch: a.owner.epoch + 1, waiting: 1 });
    expect(await world.refused([{ op: "message.settle", settlements: [] }], a.owner)).toBe("fenced");
    expect(await claim(world, a.id, world.node)).toBeUndefined();
    expect(await claim(world, a.id, other)).toBe(a.owner.epoch + 1);
  });

  storeTest("an agent can be claimed as soon as the lease of its node has ended, not earlier", open, async (world) => {
    await world.done([{ op: "agent.create", seed: world.seed("a") }]);
    const id = idOf("a");
    const leaseUntil = world.now + LEASE_MS;
    const weak = await world.join("weak", leaseUntil);
    expect(await claim(world, id, weak)).toBe(1);
    world.now = leaseUntil - 1;
    expect(await claim(world, id, world.node)).toBeUndefined();
    world.now = leaseUntil;
    expect(await claim(world, id, world.node)).toBe(2);
  });

  storeTest("a lease can be renewed until it ends or its node leaves", open, async (world) => {
    const leaseUntil = world.now + LEASE_MS;
    const node = await world.join("node", leaseUntil);
    await world.done([{ op: "node.renew", node, leaseUntil: leaseUntil + LEASE_MS }]);
    expect((await world.store.nodes()).find((one) => one.node === node)).toEqual({
      node,
      name: "node",
      leaseUntil: leaseUntil + LEASE_MS,
      left: false,
      returned: false,
    });
    world.now = leaseUntil + LEASE_MS;
    expect(await world.refused([{ op: "node.renew", node, leaseUntil: world.now + LEASE_MS }])).toBe("fenced");
    const second = await world.join("second");
    await world.done([{ op: "node.leave", node: second }]);
    expect((await world.store.nodes()).find((one) => one.node === second)).toMatchObject({ left: true });
    expect(await world.refused([{ op: "node.renew", node: second, leaseUntil: world.now + LEASE_MS }])).toBe("fenced");
  });

  storeTest("a node that lost its lease and joined again differs from one that left", open, async (world) => {
    const was = await world.join("away");
    const held = world.seed("held");
    await world.done([
      { op: "agent.create", seed: held },
      { op: "agent.claim", agentId: held.id, node: was },
    ]);
    const other = await world.join("other");
    await world.done([{ op: "node.leave", node: other }]);
    const [joined] = await world.done([{ op: "node.join", name: "back", leaseUntil: world.now + LEASE_MS, was }]);
    const node = joined?.op === "node.join" ? joined.node : 0;
    const nodes = (await world.store.nodes()).filter((one) => [was, other, node].includes(one.node));
    expect(nodes.map(({ left, returned }) => ({ left, returned }))).toEqual([
      { left: false, returned: true },
      { left: true, returned: false },
      { left: false, returned: false },
    ]);
    // The old lease still runs to its end: calls that the node began may still be in progress.
    expect(await claim(world, held.id, node)).toBeUndefined();
    expect(await world.refused([{ op: "node.renew", node: was, leaseUntil: world.now + 9 * LEASE_MS }])).toBe("fenced");
    world.now += LEASE_MS;
    expect(await claim(world, held.id, node)).toBe(2);
  });

  storeTest("posting can claim the recipient in the same commit and returns its owner", open, async (world) => {
    const other = await world.join("other", world.now + 10 * LEASE_MS);
    const post = async (claimFor?: number) =>
      postedIn(
        await world.done([
          postOp({ sessionKey: keyOf("a"), create: world.seed("a") }, userBody("x"), world.now, { claimFor }),
        ]),
      );
    expect((await post()).holder).toBeUndefined();
    expect((await post(other)).holder).toEqual({ node: other, epoch: 1 });
    expect((await post(world.node)).holder).toEqual({ node: other, epoch: 1 });
    expect((await post()).holder).toEqual({ node: other, epoch: 1 });
    await world.done([{ op: "node.leave", node: other }]);
    expect((await post()).holder).toBeUndefined();
    expect((await post(world.node)).holder).toEqual({ node: world.node, epoch: 2 });
  });

  storeTest("posting reports whether the message is the only one that waits", open, async (world) => {
    const a = await world.agent("a");
    const post = () => postOp({ agentId: a.id }, userBody("x"), world.now);
    const alone = (results: Awaited<ReturnType<World["done"]>>) =>
      results.flatMap((one) => (one?.op === "message.post" ? [one.alone ?? false] : []));
    expect(alone(await world.done([post()]))).toEqual([true]);
    expect(alone(await world.done([post()]))).toEqual([false]);
    const created = { sessionKey: keyOf("b"), create: world.seed("b") };
    expect(alone(await world.done([postOp(created, userBody("x"), world.now)]))).toEqual([true]);
    const c = await world.agent("c");
    // Of two in one change the second is never alone; the value for the first is not specified.
    const two = [1, 2].map(() => postOp({ agentId: c.id }, userBody("x"), world.now));
    expect(alone(await world.done(two))[1]).toBe(false);
  });

  storeTest(
    "a bulk claim takes only agents with work and without a live owner, up to the limit",
    open,
    async (world) => {
      const other = await world.join("other", world.now + 10 * LEASE_MS);
      for (const name of ["idle", "w1", "w2", "w3", "held", "ran"]) {
        await world.done([{ op: "agent.create", seed: world.seed(name) }]);
      }
      for (const name of ["w1", "w2", "w3", "held"]) await world.post(idOf(name));
      await claim(world, idOf("held"), other);
      const epoch = await claim(world, idOf("ran"), other);
      await world.openRun({ id: idOf("ran"), owner: { agentId: idOf("ran"), node: other, epoch: epoch ?? 0 } }, "r");
      expect(await claimMany(world, 2)).toEqual([idOf("w1"), idOf("w2")]);
      expect(await claimMany(world, 10)).toEqual([idOf("w3")]);
      expect(await claimMany(world, 10)).toEqual([]);
      // The other node leaves: its agents become claimable, also those with only an open run.
      await world.done([{ op: "node.leave", node: other }]);
      expect(await claimMany(world, 10)).toEqual([idOf("held"), idOf("ran")]);
    },
  );

  storeTest("a bulk claim in one group with other claims never gives an agent to two nodes", open, async (world) => {
    const other = await world.join("other", world.now + 10 * LEASE_MS);
    const names = ["a", "b", "c", "d"];
    for (const name of names) await world.done([{ op: "agent.create", seed: world.seed(name) }]);
    for (const name of names.slice(0, 3)) await world.post(idOf(name));
    const [one, , two] = await Promise.all([
      world.commit([{ op: "agent.claim", agentId: idOf("a"), node: other }]),
      world.commit([postOp({ agentId: idOf("d") }, userBody("x"), world.now)]),
      world.commit([{ op: "agents.claim", node: world.node, limit: 10 }]),
    ]);
    expect(one).toMatchObject({ ok: true, results: [{ epoch: 1 }] });
    const claims = names.slice(1).map((name) => ({ agentId: idOf(name), epoch: 1 }));
    expect(two).toMatchObject({ ok: true, results: [{ claims }] });
    expect(await world.store.agent(idOf("a"))).toMatchObject({ node: other });
  });

  storeTest("an idle agent is released, one with a message or an open run is not", open, async (world) => {
    const a = await world.agent("a");
    const { seq } = await world.post(a.id);
    expect(await release(world, a)).toBe(false);
    await world.openRun(a, "r", [seq]);
    expect(await release(world, a)).toBe(false);
    await world.done([{ op: "run.end", runId: "r" as RunId, body: runBody(), outcome: "ok" }], a.owner);
    expect(await release(world, a)).toBe(true);
    expect((await world.store.agent(a.id))?.node).toBeUndefined();
  });

  storeTest("a release is refused if a message arrived after the owner read the inbox", open, async (world) => {
    const a = await world.agent("a");
    // Step by step: the owner reads an empty inbox, a message is committed, the owner releases the agent.
    const seen = await world.store.agent(a.id);
    expect(seen).toMatchObject({ waiting: 0, nextSeq: 1 });
    await world.post(a.id);
    expect(await release(world, a)).toBe(false);
    expect(await world.store.agent(a.id)).toMatchObject({ node: world.node, waiting: 1 });
    // The same within one group, before either commit has been answered.
    const b = await world.agent("b");
    const [, released] = await Promise.all([
      world.commit([postOp({ agentId: b.id }, userBody("x"), 1)]),
      world.commit([{ op: "agent.release" }], b.owner),
    ]);
    expect(released).toMatchObject({ ok: true, results: [{ released: false }] });
  });

  storeTest("a stopped agent cannot open a run or take a step, but can end its open run", open, async (world) => {
    const a = await world.agent("a");
    await world.openRun(a, "r");
    await world.done([{ op: "agent.stop", agentId: a.id, mark: { at: 5, reason: "enough" } }]);
    expect(await world.store.agent(a.id)).toMatchObject({ stopped: { at: 5, reason: "enough" } });
    const run = { id: "r" as RunId, step: 1 };
    expect(await world.refused([{ op: "run.step", runId: run.id, body: runBody() }], { ...a.owner, run })).toBe(
      "stopped",
    );
    await world.done([{ op: "run.end", runId: run.id, body: runBody(), outcome: "aborted" }], {
      ...a.owner,
      run: { ...run, evenAborted: true },
    });
    expect(await world.refused([{ op: "run.open", runId: "s" as RunId, body: runBody() }], a.owner)).toBe("stopped");
    await world.done([{ op: "agent.stop", agentId: a.id, mark: null }]);
    await world.openRun(a, "s");
  });

  storeTest("a stop applies to all descendants: no step, no run and no new child", open, async (world) => {
    const root = await world.agent("root");
    const child = await world.agent("child", childOf(root.id, "child"));
    const grandchild = await world.agent("grandchild", childOf(child.id, "grandchild"));
    await world.openRun(grandchild, "r");
    await world.done([{ op: "agent.stop", agentId: root.id, mark: { at: 1, reason: "stop" } }]);
    const run = { id: "r" as RunId, step: 1 };
    const step = { op: "run.step" as const, runId: run.id, body: runBody() };
    expect(await world.refused([step], { ...grandchild.owner, run })).toBe("stopped");
    expect(await world.refused([{ op: "run.open", runId: "s" as RunId, body: runBody() }], child.owner)).toBe(
      "stopped",
    );
    const seed = world.seed("late", childOf(grandchild.id, "late"));
    expect(await world.refused([{ op: "agent.create", seed }])).toBe("stopped");
    const to = { sessionKey: seed.sessionKey, create: seed };
    expect(await world.refused([postOp(to, userBody("x"), 1)])).toBe("stopped");
  });

  storeTest(
    "a stop records which messages came before it, and only the stop that was read can be taken back",
    open,
    async (world) => {
      const a = await world.agent("a");
      await world.done([postOp({ agentId: a.id }, userBody("before"), 1)]);
      const stop = { op: "agent.stop", agentId: a.id, mark: { at: 1, reason: "x" } } as const;
      await world.done([stop]);
      expect((await world.store.agent(a.id))?.stopped).toEqual({ at: 1, reason: "x", seq: 2 });
      await world.done([postOp({ agentId: a.id }, userBody("after"), 2)]);
      await world.done([stop]);
      const start = { op: "agent.stop", agentId: a.id, mark: null } as const;
      expect(await world.refused([{ ...start, ifSeq: 2 }])).toBe("conflict");
      await world.done([{ ...start, ifSeq: 3 }]);
      expect((await world.store.agent(a.id))?.stopped).toBeUndefined();
    },
  );

  storeTest(
    "an agent is removed only when idle; then its address is free and its inbox closed",
    open,
    async (world) => {
      const a = await world.agent("a");
      const remove = { op: "agent.remove", agentId: a.id, reason: "done" } as const;
      await world.done([postOp({ agentId: a.id }, userBody("x"), 1)]);
      expect(await world.refused([remove])).toBe("conflict");
      await world.done(
        [{ op: "message.settle", settlements: [{ seq: 1, from: "waiting", state: "dropped" }] }],
        a.owner,
      );
      await world.done([remove]);
      await world.done([remove]);
      expect((await world.store.agent(a.id))?.stopped).toMatchObject({ reason: "done", removed: true });
      expect(await world.store.agentByKey(keyOf("a"))).toBeUndefined();
      expect(await world.store.agents({ limit: 9 })).toEqual([]);
      expect(await world.store.linesBack(a.id, { limit: 9 })).toEqual([]);
      expect(await world.store.messages(a.id, { limit: 9 })).toEqual([]);
      expect(await world.refused([postOp({ agentId: a.id }, userBody("late"), 2)])).toBe("missing");
      expect(await world.refused([{ op: "message.settle", settlements: [] }], a.owner)).toBe("fenced");
      expect(await world.refused([{ op: "agent.stop", agentId: a.id, mark: null }])).toBe("missing");
      const seed = { ...world.seed("a"), id: idOf("another") };
      await world.done([{ op: "agent.create", seed }]);
      expect((await world.store.agentByKey(keyOf("a")))?.id).toBe(idOf("another"));
    },
  );

  storeTest(
    "an agent's children are listed in the order they were made, without those that were removed",
    open,
    async (world) => {
      const root = await world.agent("root");
      for (const name of ["c", "a", "b"]) {
        await world.done([{ op: "agent.create", seed: { ...world.seed(name), descriptor: childOf(root.id, name) } }]);
      }
      const children = async (after?: AgentId) =>
        (await world.store.children(root.id, { limit: 2, after })).map(({ id }) => id);
      expect(await children()).toEqual([idOf("c"), idOf("a")]);
      expect(await children(idOf("a"))).toEqual([idOf("b")]);
      await world.done([{ op: "agent.remove", agentId: idOf("c"), reason: "done" }]);
      expect(await children()).toEqual([idOf("a"), idOf("b")]);
    },
  );

  storeTest(
    "a stop that comes before a descendant's start in the same group refuses the start",
    open,
    async (world) => {
      const root = await world.agent("root");
      const child = await world.agent("child", childOf(root.id, "child"));
      const [, opened, made] = await Promise.all([
        world.commit([{ op: "agent.stop", agentId: root.id, mark: { at: 1, reason: "stop" } }]),
        world.commit([{ op: "run.open", runId: "r" as RunId, body: runBody() }], child.owner),
        world.commit([{ op: "agent.create", seed: world.seed("late", childOf(child.id, "late")) }]),
      ]);
      expect(opened).toMatchObject({ ok: false, refused: "stopped" });
      expect(made).toMatchObject({ ok: false, refused: "stopped" });
    },
  );
}

async function claim(world: World, agentId: AgentId, node: number): Promise<number | undefined> {
  const [claimed] = await world.done([{ op: "agent.claim", agentId, node }]);
  if (claimed?.op !== "agent.claim") throw new Error("No answer.");
  return claimed.epoch;
}

async function claimMany(world: World, limit: number): Promise<AgentId[]> {
  const [claimed] = await world.done([{ op: "agents.claim", node: world.node, limit }]);
  if (claimed?.op !== "agents.claim") throw new Error("No answer.");
  for (const { agentId, epoch } of claimed.claims) {
    expect(await world.store.agent(agentId)).toMatchObject({ node: world.node, epoch });
  }
  return claimed.claims.map((one) => one.agentId);
}

async function release(world: World, held: Held): Promise<boolean> {
  const [released] = await world.done([{ op: "agent.release" }], held.owner);
  if (released?.op !== "agent.release") throw new Error("No answer.");
  return released.released;
}
