/** Swarms and their contacts, permanent agents whose descriptor changes or that are removed, and children of agents. */
import { expect } from "vitest";
import type { SwarmRecord } from "../../src/core/agent/swarm.ts";
import { childOf, idOf, type Opener, postOp, START, storeTest, userBody } from "./fixture.ts";

const swarm = (nametag: string, rest: Partial<SwarmRecord> = {}): SwarmRecord => ({
  nametag,
  owner: idOf("owner"),
  profile: "main",
  firstName: "Desk",
  systemPrompt: "You help.",
  memory: false,
  createdAt: START,
  ...rest,
});

export function swarmContract(open: Opener): void {
  storeTest(
    "a swarm is published, replaced, kept with unknown fields, and removed with its contacts",
    open,
    async (world) => {
      await world.done([{ op: "swarm.put", swarm: swarm("desk"), fresh: true }]);
      expect(await world.refused([{ op: "swarm.put", swarm: swarm("desk"), fresh: true }])).toBe("conflict");
      const changed = swarm("desk", { systemPrompt: "You help more.", fromTheFuture: 1 });
      await world.done([
        { op: "swarm.put", swarm: changed },
        { op: "swarm.put", swarm: swarm("attic") },
      ]);
      expect(await world.store.swarm("desk")).toEqual(changed);
      expect((await world.store.swarms({ limit: 10 })).map(({ nametag }) => nametag)).toEqual(["attic", "desk"]);
      expect(await world.store.swarms({ limit: 10, after: "attic" })).toEqual([changed]);
      await world.done([{ op: "swarm.contact", nametag: "desk", contact: idOf("ann") }]);
      await world.done([{ op: "swarm.remove", nametag: "desk" }]);
      expect(await world.store.swarm("desk")).toBeUndefined();
      expect(await world.store.swarmContacts("desk", { limit: 10 })).toEqual([]);
    },
  );

  storeTest(
    "contacts are found or created, counted in both directions, and listed newest first",
    open,
    async (world) => {
      await world.done([{ op: "swarm.put", swarm: swarm("desk") }]);
      const [ann, bob] = [idOf("ann"), idOf("bob")];
      const about = { op: "swarm.contact", nametag: "desk" } as const;
      const first = world.now;
      await world.done([{ ...about, contact: ann, received: 1 }]);
      await world.done([{ ...about, contact: bob, received: 1, agentId: idOf("of bob") }]);
      const last = world.now;
      await world.done([{ ...about, contact: ann, sent: 2, agentId: idOf("of ann"), known: true }]);
      expect(await world.store.swarmContact("desk", ann)).toEqual({
        swarm: "desk",
        contact: ann,
        agentId: idOf("of ann"),
        messagesSent: 2,
        messagesReceived: 1,
        firstContactAt: first,
        lastContactAt: last,
      });
      // Later messages that do not name the agent leave it as it is.
      await world.done([{ ...about, contact: bob, sent: 1, known: true }]);
      expect(await world.store.swarmContact("desk", bob)).toMatchObject({ agentId: idOf("of bob"), messagesSent: 1 });
      await world.done([{ ...about, contact: ann, sent: 0 }]);
      expect((await world.store.swarmContacts("desk", { limit: 10 })).map(({ contact }) => contact)).toEqual([
        ann,
        bob,
      ]);
      expect((await world.store.swarmContacts("desk", { limit: 1 })).map(({ contact }) => contact)).toEqual([ann]);
      expect(await world.store.swarmContact("desk", idOf("cat"))).toBeUndefined();
      expect(await world.refused([{ ...about, contact: idOf("cat"), sent: 1, known: true }])).toBe("missing");
      expect(await world.refused([{ ...about, nametag: "nowhere", contact: ann }])).toBe("missing");
    },
  );

  storeTest("only a permanent agent can get a new descriptor, and only from its owner", open, async (world) => {
    const clerk = { type: "permanent", id: "c", name: "clerk", description: "d", systemPrompt: "old" } as const;
    const held = await world.agent("clerk", clerk);
    const op = { op: "agent.describe", descriptor: { ...clerk, systemPrompt: "new" } } as const;
    expect(await world.refused([op])).toBe("fenced");
    await world.done([op], held.owner);
    expect((await world.store.agent(held.id))?.descriptor).toEqual(op.descriptor);
    const ann = await world.agent("ann");
    expect(await world.refused([op], ann.owner)).toBe("conflict");
  });

  storeTest(
    "an agent removed with its history kept accepts nothing, is not listed, and its key is free",
    open,
    async (world) => {
      const held = await world.agent("clerk", {
        type: "permanent",
        id: "c",
        name: "clerk",
        description: "d",
        systemPrompt: "p",
      });
      await world.post(held.id);
      const remove = { op: "agent.remove", agentId: held.id, reason: "removed by a test", keep: true } as const;
      expect(await world.refused([remove], held.owner)).toBe("conflict");
      const settlements = [{ seq: 1, from: "waiting", state: "removed", reason: "gone" }] as const;
      await world.done([{ op: "message.settle", settlements }, remove], held.owner);
      expect(await world.store.agent(held.id)).toMatchObject({ stopped: { removed: true }, nextPos: 2 });
      expect(await world.store.messages(held.id, { limit: 5 })).toMatchObject([{ state: "removed", reason: "gone" }]);
      expect(await world.store.agentsOfKind("permanent", { limit: 5 })).toEqual([]);
      expect(await world.store.roots({ limit: 5 })).toEqual([]);
      expect(await world.refused([postOp({ agentId: held.id }, userBody("hello?"), world.now)])).toBe("missing");
      const again = { ...world.seed("clerk"), id: idOf("another clerk") };
      expect(await world.done([{ op: "agent.create", seed: again, fresh: true }])).toMatchObject([{ created: true }]);
    },
  );

  storeTest("agents are listed by parent, by open work, and newest first", open, async (world) => {
    const [ann, bob] = [await world.agent("ann"), await world.agent("bob")];
    const child = await world.agent("child", childOf(ann.id, "child"));
    const other = await world.agent("other", childOf(ann.id, "other"));
    const ids = (agents: readonly { readonly id: string }[]) => agents.map(({ id }) => id);
    expect(ids(await world.store.roots({ limit: 5 }))).toEqual([bob.id, ann.id]);
    expect(ids(await world.store.roots({ limit: 5, after: bob.id }))).toEqual([ann.id]);
    expect(ids(await world.store.children(ann.id, { limit: 5 }))).toEqual([child.id, other.id]);
    expect(ids(await world.store.children(ann.id, { limit: 5, after: child.id }))).toEqual([other.id]);
    expect(ids(await world.store.agents({ limit: 3, newest: true }))).toEqual([other.id, child.id, bob.id]);
    expect(ids(await world.store.agents({ limit: 3, newest: true, after: bob.id }))).toEqual([ann.id]);
    expect(await world.store.busyAgents({ limit: 5 })).toEqual([]);
    await world.post(child.id);
    await world.openRun(ann, "a run of ann");
    expect(ids(await world.store.busyAgents({ limit: 5 }))).toEqual([ann.id, child.id]);
    expect(ids(await world.store.busyAgents({ limit: 5, after: ann.id }))).toEqual([child.id]);
  });

  storeTest("an agent that must be new is refused if its key is in use", open, async (world) => {
    const seed = world.seed("ann");
    await world.done([{ op: "agent.create", seed, fresh: true }]);
    expect(await world.refused([{ op: "agent.create", seed: { ...seed, id: idOf("other") }, fresh: true }])).toBe(
      "conflict",
    );
    expect(await world.done([{ op: "agent.create", seed }])).toMatchObject([{ created: false }]);
  });
}
