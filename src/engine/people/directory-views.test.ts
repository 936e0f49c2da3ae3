/** What the directory keeps of its reads: how old a view may be, what a slower read must not undo, more people than a page. */

import { expect, test } from "vitest";
import type { PeopleSettings } from "../../core/agent/person.ts";
import type { PersonId } from "../../core/people/person.ts";
import type { PersonRecord } from "../../core/people/person-record.ts";
import { directoryOf } from "./directory.ts";

const person = (id: string, more: Partial<PersonRecord> = {}): PersonRecord => ({
  ...{ id, role: "guest", accounts: [], grants: [], createdAt: 1, createdBy: "owner" },
  ...more,
});

function world(identity: PeopleSettings = {}) {
  const state = {
    revision: 1,
    people: [] as PersonRecord[],
    now: 1_000_000,
    reads: [] as string[],
    error: undefined as Error | undefined,
  };
  let gate: Promise<void> | undefined;
  const store = {
    async rightsRevision() {
      state.reads.push("revision");
      if (state.error) throw state.error;
      return state.revision;
    },
    async people({ limit, after = "" }: { limit: number; after?: string }) {
      const page = state.people.filter(({ id }) => id > after).slice(0, limit);
      state.reads.push(`people ${page.length}`);
      await gate;
      return page;
    },
  };
  const directory = directoryOf({ store: store as never, clock: { now: () => state.now } }, { current: { identity } });
  const hold = () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    gate = promise;
    return () => {
      gate = undefined;
      resolve();
    };
  };
  return { directory, state, hold };
}
const ids = (name: string) => name as PersonId;

test("more people than a page are all known", async () => {
  const { directory, state } = world();
  state.people = Array.from({ length: 500 }, (_, n) =>
    person(`p${String(n).padStart(4, "0")}`, { accounts: [`test:${n}`] }),
  );
  expect((await directory.now()).personOf(ids("test:499"))).toBe("p0499");
  expect(state.reads).toEqual(["revision", "people 500", "people 0", "revision"]);
  state.people.push(person("p0500", { accounts: ["test:500"] }));
  state.revision++;
  expect((await directory.now()).personOf(ids("test:500"))).toBe("p0500");
  expect(state.reads.slice(4)).toEqual(["revision", "people 500", "people 1", "revision"]);
});

test("a view is recent for ten seconds, and not if the clock went back", async () => {
  const { directory, state } = world();
  await directory.recent();
  const reads = async (): Promise<number> => {
    state.reads.length = 0;
    await directory.recent();
    return state.reads.length;
  };
  expect(await reads()).toBe(0);
  state.now += 9_999;
  expect(await reads()).toBe(0);
  state.now += 1;
  expect(await reads()).toBe(1);
  state.now -= 60_000;
  expect(await reads()).toBe(1);
});

test("what this process changed is seen by the next look, also if a read began before", async () => {
  const { directory, state, hold } = world();
  await directory.now();
  directory.forget();
  state.reads.length = 0;
  await directory.recent();
  expect(state.reads).toEqual(["revision", "people 0", "revision"]);
  // A read is under way when this process changes something.
  state.revision = 2;
  directory.forget();
  const go = hold();
  const slow = directory.recent();
  await Promise.resolve();
  await Promise.resolve();
  directory.forget();
  state.reads.length = 0;
  const later = directory.recent();
  go();
  await Promise.all([slow, later]);
  expect(state.reads[0]).toBe("revision");
  state.reads.length = 0;
  state.revision = 3;
  state.people = [person("ann", { accounts: ["test:1"] })];
  directory.forget();
  expect((await directory.recent()).personOf(ids("test:1"))).toBe("ann");
});

test("two who look at once read once", async () => {
  const { directory, state } = world();
  await Promise.all([directory.recent(), directory.recent()]);
  expect(state.reads.filter((read) => read === "revision")).toHaveLength(2);
});

test("a store that does not answer leaves the older view, and no view at all is an error", async () => {
  const { directory, state } = world();
  state.error = new Error("down");
  await expect(directory.recent()).rejects.toThrow("down");
  state.error = undefined;
  state.people = [person("ann", { accounts: ["test:1"] })];
  await directory.recent();
  state.error = new Error("down");
  state.now += 20_000;
  expect((await directory.recent()).personOf(ids("test:1"))).toBe("ann");
  await expect(directory.now()).rejects.toThrow("down");
});

test("listeners hear of every new revision until they stop", async () => {
  const { directory, state } = world();
  const heard: number[] = [];
  const stop = directory.onChanged((people) => {
    heard.push(people.length);
  });
  await directory.now();
  await directory.now();
  expect(heard).toEqual([0]);
  state.revision++;
  state.people = [person("ann")];
  await directory.now();
  expect(heard).toEqual([0, 1]);
  stop();
  state.revision++;
  await directory.now();
  expect(heard).toEqual([0, 1]);
});

test("a store that was restored to an earlier revision is read again", async () => {
  const { directory, state } = world();
  state.revision = 5;
  state.people = [person("ann", { accounts: ["test:1"] })];
  await directory.now();
  state.revision = 4;
  state.people = [];
  const view = await directory.now();
  expect(view.revision).toBe(4);
  expect(view.personOf(ids("test:1"))).toBe("test:1");
});

test("every form of an id is one person, and rights are those of the record", async () => {
  const { directory, state } = world({
    ...{ unknown: "guest", ownerAccounts: ["telegram:1"], identityLinks: { joe: ["telegram:5"], sue: ["telegram:6"] } },
  });
  state.people = [
    person("ann", { accounts: [" Telegram : AbC ", "api:Ann"], grants: [{ allow: "x" }] }),
    person("sue-record", { accounts: ["telegram:6"] }),
    person("owner", { role: "owner", grants: [{ deny: "y" }] }),
    person("grp", { accounts: ["telegram:group:-1"] }),
    person("user", { accounts: ["app:shop/Bob"] }),
  ];
  const view = await directory.now();
  const table: [string, string, string][] = [
    ["ann", "ann", "guest"],
    ["telegram:abc", "ann", "guest"],
    ["TELEGRAM:ABC", "ann", "guest"],
    ["telegram:dm:abc", "ann", "guest"],
    ["api:Ann", "ann", "guest"],
    ["api:ann", "api:ann", "guest"],
    ["owner", "owner", "owner"],
    ["telegram:1", "owner", "owner"],
    ["telegram:5", "link:joe", "guest"],
    ["link:joe", "link:joe", "guest"],
    ["link:none", "link:none", "guest"],
    ["telegram:6", "sue-record", "guest"],
    ["link:sue", "sue-record", "guest"],
    ["telegram:9", "telegram:9", "guest"],
    ["telegram:group:-1", "grp", "guest"],
    ["telegram:group:-2", "telegram:group:-2", "guest"],
    ["app:shop/Bob", "user", "guest"],
    ["app:shop/bob", "app:shop/bob", "guest"],
    ["gone", "gone", "stranger"],
    ["crowd:*", "crowd:*", "stranger"],
  ];
  for (const [id, who, role] of table) {
    expect([id, view.personOf(ids(id)), view.standing(ids(id)).role]).toEqual([id, who, role]);
    expect(view.standing(ids(id)).person).toBe(who);
  }
  expect(view.standing(ids("telegram:abc")).grants).toEqual([{ allow: "x" }]);
  expect(view.standing(ids("owner")).grants).toEqual([{ deny: "y" }]);
  expect(view.standing(ids("telegram:9")).grants).toEqual([]);
  expect(view.sender(" API ", "person:ann")).toBe("ann");
  expect(view.sender("telegram", "group:x")).toBe("telegram:dm:group:x");
});

test("without a word about strangers they are strangers", async () => {
  const view = await world().directory.now();
  const roles = ["telegram:9", "telegram:group:-2", "api:bob", "app:shop/bob", "owner"].map(
    (id) => view.standing(ids(id)).role,
  );
  expect(roles).toEqual(["stranger", "stranger", "guest", "guest", "owner"]);
});
