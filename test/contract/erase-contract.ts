/** Erasing what belongs to a forgotten person (L13): rows go, others' rows stay, and messages delivered once more are recognised (M5). */
import { expect } from "vitest";
import type { AgentId } from "../../src/core/ids.ts";
import type { PersonId } from "../../src/core/people/person.ts";
import type { Op } from "../../src/core/store/change.ts";
import { idOf, type Opener, postOp, START, storeTest, userBody, type World } from "./fixture.ts";

const TOMBSTONE = "forgotten-1a2b";

async function removed(world: World, name: string): Promise<AgentId> {
  const seed = { ...world.seed(name), person: "ann" as PersonId };
  await world.done([{ op: "agent.create", seed }]);
  await world.done([{ op: "agent.remove", agentId: seed.id, reason: "test" }]);
  return seed.id;
}

export function eraseContract(open: Opener): void {
  storeTest(
    "an agent is erased, also at work: its holder is fenced, and its row loses name and person",
    open,
    async (world) => {
      const { store } = world;
      const held = await world.agent("ann");
      await world.post(held.id);
      await world.post(held.id);
      const run = await world.openRun(held, "run-1", [1]);
      const erase: Op = { op: "agent.erase", agentId: held.id, tombstone: TOMBSTONE };
      await world.done([erase]);
      await world.done([erase]);
      const left = await store.agent(held.id);
      expect(left).toMatchObject({ person: TOMBSTONE, waiting: 0, descriptor: { type: "system", tag: "forgotten" } });
      expect(left?.stopped).toMatchObject({ removed: true, reason: "forgotten" });
      expect(JSON.stringify(left)).not.toContain(world.seed("ann").sessionKey);
      expect(await store.agentByKey(world.seed("ann").sessionKey)).toBeUndefined();
      expect(await store.linesBack(held.id, { limit: 10 })).toEqual([]);
      expect(await store.run(run)).toBeUndefined();
      expect(await store.waiting(held.id, { limit: 10 })).toEqual([]);
      expect(await store.busyAgents({ limit: 10 })).toEqual([]);
      expect(await store.agents({ limit: 10 })).toEqual([]);
      expect((await store.eraser?.agents({ limit: 10 }))?.map(({ id }) => id)).toEqual([held.id]);
      expect(await world.refused([{ op: "agent.release" }], held.owner)).toBe("fenced");
      expect(await world.refused([postOp({ agentId: held.id }, userBody("more"), START)])).toBe("missing");
    },
  );

  storeTest(
    "a message of a forgotten person that is delivered once more is recognised by a digest",
    open,
    async (world) => {
      const seed = world.seed("ann");
      let made = 0;
      const post = (key: string): Op => {
        const to = { sessionKey: seed.sessionKey, create: { ...seed, id: idOf(`ann${made++}`) } };
        return postOp(to, userBody(key), START, { dedupe: { key, keepUntil: START + 1_000_000 } });
      };
      const key = JSON.stringify(["telegram", "", "42", "7", 0]);
      const [posted] = await world.done([post(key)]);
      const agentId = (posted as { agentId: AgentId }).agentId;
      await world.done([{ op: "message.drop", agentId, seq: 1, reason: "forgotten" }]);
      await world.done([{ op: "agent.remove", agentId, reason: "forgotten" }]);
      await world.done([{ op: "agent.erase", agentId, tombstone: TOMBSTONE }]);
      expect((await world.done([post(key)]))[0]).toMatchObject({ agentId, seq: 1, duplicate: true });
      // Another message makes a new agent; the old one is still recognised there.
      expect((await world.done([post("another")]))[0]).toMatchObject({ duplicate: false, created: true });
      expect((await world.done([post(key)]))[0]).toMatchObject({ agentId, duplicate: true });
    },
  );

  storeTest(
    "people, jobs, budgets and replies go; the audit log keeps what was done without who",
    open,
    async (world) => {
      const { store } = world;
      const record = {
        id: "ann",
        role: "guest",
        accounts: ["telegram:42"],
        grants: [],
        createdAt: START,
        createdBy: "owner",
      };
      const audit = (person: string, target: string): Op => ({
        op: "audit.add",
        entry: { at: START, person, surface: "cli", action: "x", target, decision: "allow", reason: "why" },
      });
      const reply = (key: string, about: string): Op => ({
        ...{ op: "request.put", reply: JSON.stringify({ json: { id: about } }) },
        request: { by: "key", key, digest: "d", keepUntil: START + 1_000_000 },
      });
      await world.done([
        { op: "person.put", person: record as never },
        { op: "budget.charge", key: "person:2026-01-01:ann", spent: { tokens: 1, micros: 1 } },
        { op: "budget.charge", key: "person:2026-01-01:anne", spent: { tokens: 1, micros: 1 } },
        ...[audit("ann", "a secret"), audit("owner", "ann 12"), audit("owner", "telegram:42"), audit("owner", "anne")],
        ...[reply("api:1", "ann"), reply("api:2", "anne")],
      ]);
      const erase: Op = {
        ...{ op: "person.erase", people: ["ann", "telegram:42"], jobs: [], budgets: ["person:2026-01-01:ann"] },
        tombstone: TOMBSTONE,
      };
      await world.done([erase]);
      await world.done([erase]);
      expect(await store.person("ann")).toBeUndefined();
      expect(await store.personByAccount("telegram:42")).toBeUndefined();
      expect((await store.budgets({ limit: 10 })).map(({ key }) => key)).toEqual(["person:2026-01-01:anne"]);
      const rows = (await store.audit({ limit: 10 })).map(({ person, target, reason }) => [person, target, reason]);
      expect(rows).toEqual([
        ["owner", "anne", "why"],
        ["owner", TOMBSTONE, undefined],
        ["owner", TOMBSTONE, undefined],
        [TOMBSTONE, undefined, undefined],
      ]);
      expect((await store.request("api:1"))?.reply).toContain("forgotten");
      expect((await store.request("api:2"))?.reply).toContain("anne");
    },
  );

  storeTest(
    "facts are listed, mentions are counted by word, and the database can be compacted",
    open,
    async (world) => {
      const { store } = world;
      const id = await removed(world, "gone");
      const { id: agentId } = await world.agent("bob");
      await world.done([
        { op: "fact.put", key: "a", value: "1" },
        { op: "fact.put", key: "b", value: "2" },
        postOp({ agentId }, userBody("ann said so"), START),
        postOp({ agentId }, userBody("an annual report"), START),
      ]);
      const eraser = store.eraser;
      expect((await eraser?.facts({ limit: 1 }))?.map(({ key }) => key)).toEqual(["a"]);
      expect((await eraser?.facts({ limit: 10, after: "a" }))?.map(({ key }) => key)).toEqual(["b"]);
      expect(await eraser?.mentions([id, agentId], ["ann", "nobody.(x"])).toEqual([{ agentId, count: 1 }]);
      await eraser?.compact();
      expect(await store.fact("a")).toBe("1");
    },
  );

  storeTest(
    "agents are listed in portions in the order in which they were made, also those that are gone",
    open,
    async (world) => {
      const { id: first } = await world.agent("first");
      const gone = await removed(world, "gone");
      const { id: last } = await world.agent("last");
      const list = async (after: AgentId | undefined, limit: number) =>
        (await world.store.eraser?.agents({ after, limit }))?.map(({ id }) => id);
      expect(await list(undefined, 2)).toEqual([first, gone]);
      expect(await list(first, 2)).toEqual([gone, last]);
      expect(await list(gone, 2)).toEqual([last]);
      expect(await list(last, 2)).toEqual([]);
    },
  );
}
