/** People, whose each account is, and the revision of rights that a decision names (M30). */
import { expect } from "vitest";
import type { RunId } from "../../src/core/ids.ts";
import type { AuditEntry, AuditFilter } from "../../src/core/people/audit.ts";
import type { PersonId } from "../../src/core/people/person.ts";
import type { PersonRecord } from "../../src/core/people/person-record.ts";
import type { Op } from "../../src/core/store/change.ts";
import { type Opener, runBody, START, storeTest } from "./fixture.ts";

const person = (id: string, rest: Partial<PersonRecord> = {}): PersonRecord => ({
  id,
  role: "guest",
  accounts: [],
  grants: [],
  createdAt: START,
  createdBy: "owner",
  ...rest,
});

export function peopleContract(open: Opener): void {
  storeTest("an agent keeps the person it belongs to", open, async (world) => {
    const seed = { ...world.seed("ann"), person: "telegram:42" as PersonId };
    await world.done([{ op: "agent.create", seed }]);
    expect(await world.store.agent(seed.id)).toMatchObject({ person: "telegram:42" });
    await world.agent("bob");
    expect((await world.store.agentByKey(world.seed("bob").sessionKey))?.person).toBeUndefined();
  });

  storeTest(
    "a person is recorded, changed, found by account, listed and removed; each moves the revision",
    open,
    async (world) => {
      const { store } = world;
      expect(await store.rightsRevision()).toBe(0);
      await world.done([{ op: "person.put", person: person("ann", { accounts: ["telegram:42", "api:ann"] }) }]);
      await world.done([{ op: "person.put", person: person("bob") }]);
      expect(await store.rightsRevision()).toBe(2);
      const changed = person("ann", { accounts: ["telegram:43"], grants: [{ allow: "exec" }], language: "de" });
      await world.done([{ op: "person.put", person: changed }]);
      expect(await store.person("ann")).toEqual(changed);
      expect(await store.personByAccount("telegram:43")).toEqual(changed);
      expect(await store.personByAccount("telegram:42")).toBeUndefined();
      expect((await store.people({ limit: 10 })).map(({ id }) => id)).toEqual(["ann", "bob"]);
      expect((await store.people({ limit: 10, after: "ann" })).map(({ id }) => id)).toEqual(["bob"]);
      await world.done([{ op: "person.remove", id: "ann" }]);
      expect(await store.person("ann")).toBeUndefined();
      expect(await store.personByAccount("telegram:43")).toBeUndefined();
      expect(await world.refused([{ op: "person.remove", id: "ann" }])).toBe("missing");
      expect(await store.rightsRevision()).toBe(4);
    },
  );

  storeTest(
    "an account belongs to one person, and a change of rights can name what it expects",
    open,
    async (world) => {
      const { store } = world;
      await world.done([{ op: "person.put", person: person("ann", { accounts: ["telegram:42"] }) }]);
      const taking = person("bob", { accounts: ["telegram:1", "telegram:42"] });
      expect(await world.refused([{ op: "person.put", person: taking }])).toBe("conflict");
      expect(await store.person("bob")).toBeUndefined();
      expect(await store.personByAccount("telegram:1")).toBeUndefined();
      expect(await world.refused([{ op: "person.put", person: person("bob"), expect: 0 }])).toBe("conflict");
      expect(await world.refused([{ op: "person.remove", id: "ann", expect: 0 }])).toBe("conflict");
      await world.done([{ op: "person.remove", id: "ann", expect: 1 }]);
      await world.done([{ op: "person.put", person: taking, expect: 2 }]);
      expect(await store.personByAccount("telegram:42")).toMatchObject({ id: "bob" });
    },
  );

  storeTest("a change that was decided by earlier rights is refused whole", open, async (world) => {
    const held = await world.agent("ann");
    const run = await world.openRun(held, "run-1");
    const step = (n: number, rights: number) => {
      const owner = { ...held.owner, run: { id: run as RunId, step: n }, rights };
      return [[{ op: "run.step", runId: run, body: runBody([]) }], owner] as const;
    };
    await world.done(...step(1, 0));
    await world.done([{ op: "person.put", person: person("ann") }]);
    expect(await world.refused(...step(2, 0))).toBe("rights");
    expect((await world.store.run(run))?.step).toBe(2);
    await world.done(...step(2, 1));
    // Without a claim nothing is compared, and several changes at once are each compared.
    const outcomes = await Promise.all([
      world.commit(...step(3, 1)),
      world.commit([{ op: "person.remove", id: "ann" }]),
    ]);
    expect(outcomes.map(({ ok }) => ok)).toEqual([true, true]);
    expect(await world.refused(...step(4, 1))).toBe("rights");
    // The rules of an agent are rights too.
    await world.done(...step(4, 2));
    await world.done([{ op: "rights.move" }], held.owner);
    expect(await world.store.rightsRevision()).toBe(3);
    expect(await world.refused(...step(5, 2))).toBe("rights");
    await world.done(...step(5, 3));
  });

  storeTest("the audit log is added to with other changes, filtered, paged and pruned by age", open, async (world) => {
    const held = await world.agent("ann");
    const entry = (at: number, rest: Partial<AuditEntry> = {}): AuditEntry => ({
      at,
      person: "ann",
      surface: "api",
      action: "write",
      decision: "allow",
      ...rest,
    });
    const add = (one: AuditEntry): Op => ({ op: "audit.add", entry: one });
    await world.done([add(entry(START)), add(entry(START + 1, { person: "bob", decision: "deny", reason: "no" }))]);
    const run = await world.openRun(held, "run-1");
    const owner = { ...held.owner, run: { id: run as RunId, step: 1 }, rights: 0 };
    const third = entry(START + 2, { agentId: held.id, runId: run, action: "exec", target: "a\u0000b" });
    await world.done([{ op: "run.step", runId: run, body: runBody([]) }, add(third)], owner);
    expect(await world.refused([{ op: "run.step", runId: run, body: runBody([]) }, add(third)], owner)).toBe("run");
    const times = async (filter: Partial<AuditFilter>) =>
      (await world.store.audit({ limit: 10, ...filter })).map(({ at }) => at - START);
    expect(await times({})).toEqual([2, 1, 0]);
    expect(await times({ limit: 1 })).toEqual([2]);
    expect(await times({ person: "ann" })).toEqual([2, 0]);
    expect(await times({ agentId: held.id })).toEqual([2]);
    expect(await times({ action: "write", decision: "deny" })).toEqual([1]);
    expect(await times({ since: START + 1 })).toEqual([2, 1]);
    const [newest] = await world.store.audit({ limit: 1 });
    expect(await times({ beforeN: newest?.n })).toEqual([1, 0]);
    expect(newest).toEqual({ ...third, n: newest?.n });
    await world.done([{ op: "prune", what: "audit", before: START + 2, limit: 10 }]);
    expect(await times({})).toEqual([2]);
  });
}
