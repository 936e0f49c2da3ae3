/** Records of people and the owner's accounts: each change is computed on what is stored, and repeated if another was first. */
import { beforeEach, describe, expect, test } from "vitest";
import { virtualClock } from "../../../test/kit/clock.ts";
import { seededIds } from "../../../test/kit/ids.ts";
import { openMemoryStore } from "../../adapters/store/sqlite/open-store.ts";
import type { ChangeId } from "../../core/ids.ts";
import type { PersonRecord } from "../../core/people/person-record.ts";
import { RIGHTS_REVISION } from "../../core/store/change.ts";
import type { Store } from "../../core/store/store.ts";
import {
  addPerson,
  changePerson,
  granted,
  grantOf,
  linked,
  patched,
  removePerson,
  revoked,
  unlinked,
} from "./change-people.ts";
import { FROM_CONFIG, syncConfiguredPeople } from "./configured-people.ts";
import { addOwnerAccount, ownerAccounts } from "./owner-accounts.ts";
import { PairingBook, type PairingPages } from "./pairing-book.ts";

const BY = { person: "olga", surface: "cli" };
let clock = virtualClock();
let store: Store;
let ports: { store: Store; clock: typeof clock; ids: ReturnType<typeof seededIds> };
let changes = 0;

beforeEach(() => {
  clock = virtualClock();
  store = openMemoryStore();
  ports = { store, clock, ids: seededIds("people") };
});

/** The same store, in which someone else commits something before each of the next commits. */
function contested(times: number, first: () => Promise<unknown>): typeof ports {
  let left = times;
  const commit: Store["commit"] = async (change) => {
    if (left-- > 0) await first();
    return store.commit(change);
  };
  const proxy = new Proxy(store, {
    get: (target, name) => (name === "commit" ? commit : Reflect.get(target, name).bind(target)),
  });
  return { ...ports, store: proxy };
}
const put = (person: Partial<PersonRecord>) =>
  store.commit({
    ...{ id: `put-${++changes}` as ChangeId, site: "test", at: 1 },
    ops: [
      {
        op: "person.put",
        person: { id: "x", role: "guest", accounts: [], grants: [], createdAt: 1, createdBy: "owner", ...person },
      },
    ],
  });
const rename = (name: string) => ({ action: "person.set", args: { name }, change: patched({ name }) });

describe("a new person", () => {
  test("is a guest unless said otherwise, made by the one who adds", async () => {
    expect(await addPerson(ports, BY, { id: "ann" })).toEqual({
      ...{ id: "ann", role: "guest", accounts: [], grants: [], createdAt: clock.now(), createdBy: "olga" },
    });
    expect(await addPerson(ports, BY, { id: "con", role: "contact" })).toMatchObject({ role: "contact" });
    expect((await store.audit({ limit: 1 }))[0]).toMatchObject({ action: "person.add", target: "con", person: "olga" });
  });

  test("may not take an id or an account of another", async () => {
    await addPerson(ports, BY, { id: "ann", accounts: ["telegram:7"] });
    await expect(addPerson(ports, BY, { id: "ann" })).rejects.toThrow("There is a person ann already");
    await expect(addPerson(ports, BY, { id: "bob", accounts: ["telegram:7"] })).rejects.toThrow("belongs to ann");
    expect(await store.person("bob")).toBeUndefined();
  });

  test("is refused if a field is wrong", async () => {
    await expect(addPerson(ports, BY, { id: "No One" })).rejects.toMatchObject({ code: "invalid_input" });
    await expect(addPerson(ports, BY, { id: "ann", timeZone: "Mars/Base" })).rejects.toThrow("Unknown time zone");
    expect(await addPerson(ports, BY, { id: "ann", timeZone: "Europe/Berlin" })).toMatchObject({
      timeZone: "Europe/Berlin",
    });
  });

  test("is not stored if a right changed in between: the caller tries again", async () => {
    const busy = contested(1, () => put({ id: "other" }));
    await expect(addPerson(busy, BY, { id: "ann" })).rejects.toMatchObject({ code: "conflict" });
    expect(await store.person("ann")).toBeUndefined();
  });

  test("brings what the caller adds, in the same commit", async () => {
    const also = ({ id }: PersonRecord) => [{ op: "fact.put", key: "made", value: id }] as const;
    await addPerson(ports, BY, { id: "ann" }, also);
    expect(await store.fact("made")).toBe("ann");
  });
});

describe("a change of a person", () => {
  test("is computed again on what another wrote, five times at most", async () => {
    await addPerson(ports, BY, { id: "ann" });
    let n = 0;
    const other = () => changePerson(ports, BY, "ann", { action: "x", args: 0, change: granted({ allow: `t${++n}` }) });
    const done = await changePerson(contested(4, other), BY, "ann", rename("Ann"));
    expect(done).toMatchObject({
      name: "Ann",
      grants: [{ allow: "t1" }, { allow: "t2" }, { allow: "t3" }, { allow: "t4" }],
    });
    await expect(changePerson(contested(5, other), BY, "ann", rename("Eve"))).rejects.toMatchObject({
      code: "conflict",
    });
    expect((await store.person("ann"))?.name).toBe("Ann");
  });

  test("that is not possible is not tried again", async () => {
    await addPerson(ports, BY, { id: "ann" });
    let calls = 0;
    const change = (): PersonRecord => {
      calls++;
      throw new TypeError("no");
    };
    await expect(changePerson(ports, BY, "ann", { action: "x", args: 0, change })).rejects.toThrow("no");
    expect(calls).toBe(1);
    await expect(changePerson(ports, BY, "eve", rename("Eve"))).rejects.toThrow("There is no person eve");
  });

  test("takes no account of another", async () => {
    await addPerson(ports, BY, { id: "ann", accounts: ["telegram:7"] });
    await addPerson(ports, BY, { id: "bob" });
    const link = { action: "person.link", args: 0, change: linked(" telegram:7 ") };
    await expect(changePerson(ports, BY, "bob", link)).rejects.toThrow("The account telegram:7 belongs to ann");
    expect(await changePerson(ports, BY, "ann", link)).toMatchObject({ accounts: ["telegram:7"] });
  });

  test("makes a record of the configuration a person's, and leaves others their maker", async () => {
    await put({ id: "ann", createdBy: FROM_CONFIG });
    expect(await changePerson(ports, BY, "ann", rename("Ann"))).toMatchObject({ createdBy: "olga" });
    await put({ id: "bob", createdBy: "eve" });
    expect(await changePerson(ports, BY, "bob", rename("Bob"))).toMatchObject({ createdBy: "eve" });
  });
});

describe("removing a person", () => {
  test("commits what must end with the person", async () => {
    await addPerson(ports, BY, { id: "ann", name: "Ann" });
    expect(await removePerson(ports, BY, "ann", [{ op: "fact.put", key: "gone", value: "ann" }])).toMatchObject({
      name: "Ann",
    });
    expect(await store.person("ann")).toBeUndefined();
    expect(await store.fact("gone")).toBe("ann");
    expect((await store.audit({ limit: 1 }))[0]).toMatchObject({ action: "person.remove", target: "ann" });
    await expect(removePerson(ports, BY, "ann")).rejects.toThrow("There is no person ann");
  });

  test("leaves those of the configuration to the configuration", async () => {
    await put({ id: "ann", createdBy: FROM_CONFIG });
    await expect(removePerson(ports, BY, "ann")).rejects.toThrow("ann is a person of the configuration");
    expect(await store.person("ann")).toBeDefined();
  });

  test("that another removed in between says so; that another thing prevents is a conflict", async () => {
    await addPerson(ports, BY, { id: "ann" });
    const removed = contested(1, () => removePerson(ports, BY, "ann"));
    await expect(removePerson(removed, BY, "ann")).rejects.toThrow("There is no person ann");
    await addPerson(ports, BY, { id: "ann" });
    const refused = removePerson(ports, BY, "ann", [{ op: "fact.put", key: "gone", value: "x", expect: "other" }]);
    await expect(refused).rejects.toThrow("ann was not removed");
    expect(await store.person("ann")).toBeDefined();
  });
});

describe("what changes", () => {
  const ann = {
    ...{ id: "ann", role: "guest", name: "Ann", language: "de", accounts: ["a:1", "b:2"] },
    ...{ grants: [{ allow: "one" }, { deny: "two" }], createdAt: 1, createdBy: "owner" },
  } as const satisfies PersonRecord;
  test("a patch sets, clears with null, and leaves the rest", () => {
    const patch = { name: "Anna", language: null, timeZone: undefined };
    expect(patched(patch)(ann)).toEqual({ ...ann, name: "Anna", language: undefined });
    expect("language" in patched(patch)(ann)).toBe(false);
    expect("timeZone" in patched(patch)(ann)).toBe(false);
  });
  test("an account is linked once, at the end, and unlinked by its name", () => {
    expect(linked(" c:3 ")(ann)).toEqual({ ...ann, accounts: ["a:1", "b:2", "c:3"] });
    expect(linked(" a:1 ")(ann).accounts).toEqual(["b:2", "a:1"]);
    expect(unlinked("a:1")(ann)).toEqual({ ...ann, accounts: ["b:2"] });
    expect(() => unlinked("c:3")(ann)).toThrow(
      expect.objectContaining({ hint: "The accounts are a:1, b:2." }) as Error,
    );
    expect(() => unlinked("c:3")({ ...ann, accounts: [] })).toThrow(
      expect.objectContaining({ hint: "There are no accounts." }) as Error,
    );
  });
  test("a grant replaces the one about the same, and is revoked by what it is about", () => {
    expect(granted({ ask: "one" })(ann)).toEqual({ ...ann, grants: [{ deny: "two" }, { ask: "one" }] });
    expect(revoked("one")(ann)).toEqual({ ...ann, grants: [{ deny: "two" }] });
    const many = { ...ann, grants: Array.from({ length: 21 }, (_, n) => ({ allow: `t${n}` })) };
    const hint = `The grants are ${Array.from({ length: 20 }, (_, n) => `t${n}`).join(", ")}.`;
    expect(() => revoked("three")(many)).toThrow(expect.objectContaining({ hint }) as Error);
  });
  test("a grant is about something", () => {
    expect(grantOf("ask", " exec ", "why")).toEqual({ ask: "exec", note: "why" });
    expect(() => grantOf("allow", "a b")).toThrow("is not what a grant can be about");
  });
});

describe("the owner's accounts", () => {
  test("are added at the end, each once; each change moves the revision of rights", async () => {
    expect(await ownerAccounts(ports)).toEqual([]);
    await addOwnerAccount(ports, BY, "a:1");
    expect(await store.rightsRevision()).toBe(1);
    await addOwnerAccount(ports, BY, "b:2");
    await addOwnerAccount(ports, BY, "a:1");
    expect(await ownerAccounts(ports)).toEqual(["b:2", "a:1"]);
    expect(await store.rightsRevision()).toBe(3);
    expect((await store.audit({ limit: 4 })).map(({ action }) => action)).toEqual([
      ...["person.link", "person.link", "person.link"],
    ]);
  });

  test("are at most thirty-two: the first gives way", async () => {
    for (let n = 0; n < 33; n++) await addOwnerAccount(ports, BY, `a:${n}`);
    const accounts = await ownerAccounts(ports);
    expect(accounts).toHaveLength(32);
    expect(accounts[0]).toBe("a:1");
  });

  test("are added to what another added in between, five times at most", async () => {
    let n = 0;
    const other = () => addOwnerAccount(ports, BY, `o:${++n}`);
    await addOwnerAccount(contested(4, other), BY, "mine:1");
    expect(await ownerAccounts(ports)).toEqual(["o:1", "o:2", "o:3", "o:4", "mine:1"]);
    await expect(addOwnerAccount(contested(5, other), BY, "mine:2")).rejects.toThrow("at the same moment");
    expect(await ownerAccounts(ports)).not.toContain("mine:2");
  });

  test("in a form that is no list are none, and texts only count", async () => {
    const write = (value: string) =>
      store.commit({
        id: `w-${++changes}` as ChangeId,
        site: "t",
        at: 1,
        ops: [{ op: "fact.put", key: "owner.accounts", value }],
      });
    await write("5");
    expect(await ownerAccounts(ports)).toEqual([]);
    await write('["a:1",5]');
    expect(await ownerAccounts(ports)).toEqual(["a:1"]);
  });

  test("are not changed if the revision moved in between without them", async () => {
    const move = () =>
      store.commit({
        ...{ id: `m-${++changes}` as ChangeId, site: "t", at: 1 },
        ops: [{ op: "fact.put", key: RIGHTS_REVISION, value: String(changes + 100) }],
      });
    await addOwnerAccount(contested(1, move), BY, "a:1");
    expect(await store.rightsRevision()).toBe(changes + 101);
  });
});

describe("people of the configuration", () => {
  const person = (accounts: string[] = []) => ({ role: "guest", accounts, grants: [] }) as never;
  const log = { warn: () => {} } as never;
  test("are stored again on what another wrote in between, five times at most", async () => {
    let n = 0;
    const other = () => put({ id: `o${++n}` });
    await syncConfiguredPeople({ ...contested(4, other), log }, { ann: person() });
    expect(await store.person("ann")).toMatchObject({ createdBy: FROM_CONFIG });
    const failing = syncConfiguredPeople({ ...contested(5, other), log }, { ann: person(), bob: person() });
    await expect(failing).rejects.toThrow("their records kept changing");
    expect(await store.person("bob")).toBeUndefined();
  });

  test("beyond a page are all found: no one of them is written or removed twice", async () => {
    const configured = Object.fromEntries(
      Array.from({ length: 501 }, (_, n) => [`p${String(n).padStart(4, "0")}`, person()]),
    );
    await syncConfiguredPeople({ ...ports, log }, configured);
    const revision = await store.rightsRevision();
    await syncConfiguredPeople({ ...ports, log }, configured);
    expect(await store.rightsRevision()).toBe(revision);
    await syncConfiguredPeople({ ...ports, log }, {});
    expect(await store.people({ limit: 1 })).toEqual([]);
  });

  test.each([
    [
      ["a:1", "a:2"],
      ["a:2", "a:3"],
      [["a:2"], ["a:2", "a:3"]],
    ],
    [["a:1"], ["a:1", "a:2"], [["a:1", "a:2"]]],
    [[], ["a:1"], [["a:1"]]],
  ])(
    "with the accounts %j get %j in the steps %j: each is given up before another gets it",
    async (before, after, steps) => {
      await syncConfiguredPeople({ ...ports, log }, { ann: person(before) });
      const seen: (readonly string[])[] = [];
      const commit: Store["commit"] = async (change) => {
        seen.push(...change.ops.flatMap((op) => (op.op === "person.put" ? [op.person.accounts] : [])));
        return store.commit(change);
      };
      await syncConfiguredPeople({ ...ports, store: { ...store, commit }, log }, { ann: person(after) });
      expect(seen).toEqual(steps);
    },
  );
});

describe("the book of pairing", () => {
  const request = (n: number): PairingPages["requests"][number] => ({
    ...{ code: `c${n}`, account: `a:${n}`, channel: "a", at: clock.now(), toldAt: clock.now() },
  });
  test("is changed on what another node wrote in between, eight times at most", async () => {
    const add = (book: PairingBook, n: number) =>
      book.change((pages) => ({ ...pages, requests: [...pages.requests, request(n)] }));
    let n = 0;
    const other = () => add(new PairingBook(ports), ++n);
    const done = await add(new PairingBook(contested(7, other)), 100);
    expect(done.requests.map(({ code }) => code)).toEqual([...[1, 2, 3, 4, 5, 6, 7].map((m) => `c${m}`), "c100"]);
    await expect(add(new PairingBook(contested(8, other)), 101)).rejects.toThrow("Too many people write");
    expect((await new PairingBook(ports).now()).requests.map(({ code }) => code)).not.toContain("c101");
  });

  test("remembers what it read for five seconds, and what it wrote", async () => {
    const [mine, other] = [new PairingBook(ports), new PairingBook(ports)];
    const block = (book: PairingBook, account: string) =>
      book.change((pages) => ({ ...pages, blocked: [...pages.blocked, account] }));
    expect((await mine.recent()).blocked).toEqual([]);
    await block(other, "a:1");
    await clock.advance(4_999);
    expect((await mine.recent()).blocked).toEqual([]);
    await clock.advance(1);
    expect((await mine.recent()).blocked).toEqual(["a:1"]);
    await block(other, "a:2");
    await block(mine, "a:3");
    expect((await mine.recent()).blocked).toEqual(["a:1", "a:2", "a:3"]);
    expect((await other.recent()).blocked).toEqual(["a:1", "a:2"]);
    expect((await other.now()).blocked).toEqual(["a:1", "a:2", "a:3"]);
    await block(mine, "a:4");
    expect((await other.recent()).blocked).toEqual(["a:1", "a:2", "a:3"]);
  });

  test("has limits: two thousand blocked, fifty codes, none that has ended", async () => {
    const book = new PairingBook(ports);
    const link = (n: number, until: number) => ({ code: `l${n}`, person: "ann", until });
    const pages = await book.change((before, now) => ({
      ...before,
      blocked: Array.from({ length: 2_001 }, (_, n) => `a:${n}`),
      links: [...Array.from({ length: 51 }, (_, n) => link(n, now + 1)), link(100, now)],
    }));
    expect(pages.blocked).toHaveLength(2_000);
    expect(pages.blocked[0]).toBe("a:1");
    expect(pages.links.map(({ code }) => code)).toEqual(Array.from({ length: 50 }, (_, n) => `l${n + 1}`));
  });
});
