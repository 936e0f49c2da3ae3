import { beforeEach, describe, expect, test } from "vitest";
import { virtualClock } from "../../../test/kit/clock.ts";
import { seededIds } from "../../../test/kit/ids.ts";
import { openMemoryStore } from "../../adapters/store/sqlite/open-store.ts";
import type { PersonId } from "../../core/people/person.ts";
import type { Arriving } from "../../core/ports/connector.ts";
import type { Store } from "../../core/store/store.ts";
import { addPerson, removePerson } from "./change-people.ts";
import { directoryOf } from "./directory.ts";
import { ownerAccounts } from "./owner-accounts.ts";
import { Pairing } from "./pairing.ts";

const HOUR = 3_600_000;
const MINUTE = 60_000;
const BY = { person: "owner" as PersonId, surface: "chat" } as const;

let clock = virtualClock();
const STRANGERS = { current: { identity: { unknown: "stranger" } } } as const;
let store: Store;
let pairing: Pairing;
let changes = 0;

beforeEach(() => {
  clock = virtualClock();
  store = openMemoryStore();
  changes = 0;
  const ports = { store, clock, ids: seededIds("pairing") };
  const directory = directoryOf({ store, clock }, STRANGERS);
  directory.onChanged(() => void changes++);
  pairing = new Pairing(ports, directory);
});

const from = (userId: string, rest: Partial<Arriving> = {}): Arriving =>
  ({
    connector: "telegram",
    userId,
    channelId: `c${userId}`,
    senderName: `Name ${userId}`,
    text: "",
    ...rest,
  }) as Arriving;
const ask = async (userId: string, rest?: Partial<Arriving>): Promise<string> => {
  const entry = await pairing.entry(from(userId, rest));
  return entry.let === "out" ? (/code: (\w+)$/.exec(entry.say ?? "")?.[1] ?? "") : "in";
};
const group = { peerKind: "group", channelId: "-100" } as Partial<Arriving>;

describe("a stranger", () => {
  test("is told one code, and the same again after six hours", async () => {
    const code = await ask("7");
    expect(code).toMatch(/^[bcdfghjkmnpqrstvwxz23456789]{6}$/);
    expect(await pairing.entry(from("7"))).toEqual({ let: "out" });
    await clock.advance(6 * HOUR - 1);
    expect(await pairing.entry(from("7"))).toEqual({ let: "out" });
    await clock.advance(1);
    expect(await ask("7")).toBe(code);
    expect(await pairing.list()).toEqual([
      {
        code,
        account: "telegram:7",
        channel: "telegram",
        name: "Name 7",
        at: clock.now() - 6 * HOUR,
        toldAt: clock.now(),
      },
    ]);
  });

  test("has a code of his own", async () => {
    expect(await ask("7")).not.toBe(await ask("8"));
    expect(await pairing.list()).toHaveLength(2);
  });

  test("in a group asks for the group, by its subject, and a long name is cut", async () => {
    await ask("7", { ...group, subject: "s".repeat(100) });
    expect(await pairing.list()).toMatchObject([{ account: "telegram:group:-100", name: "s".repeat(80) }]);
    await ask("8", { senderName: undefined });
    expect((await pairing.list())[1]?.name).toBeUndefined();
  });

  test("is not answered while sixty others of the same minute were", async () => {
    for (let n = 0; n < 60; n++) expect(await ask(`u${n}`), String(n)).not.toBe("");
    expect(await pairing.entry(from("late"))).toEqual({ let: "out" });
    expect(await pairing.list()).toHaveLength(60);
    await clock.advance(MINUTE - 1);
    expect(await pairing.entry(from("late"))).toEqual({ let: "out" });
    await clock.advance(1);
    expect(await ask("late")).not.toBe("");
  });

  test("is forgotten after a week", async () => {
    await ask("7");
    await clock.advance(7 * 24 * HOUR - 1);
    await ask("8");
    expect((await pairing.list()).map(({ account }) => account)).toEqual(["telegram:7", "telegram:8"]);
    await clock.advance(1);
    await ask("9");
    expect((await pairing.list()).map(({ account }) => account)).toEqual(["telegram:8", "telegram:9"]);
  });

  test("makes the oldest of two hundred requests give way", async () => {
    for (let n = 0; n < 201; n++) {
      if (n % 60 === 0) await clock.advance(MINUTE);
      await ask(`u${n}`);
    }
    const accounts = (await pairing.list()).map(({ account }) => account);
    expect([accounts.length, accounts[0], accounts.at(-1)]).toEqual([200, "telegram:u1", "telegram:u200"]);
  });
});

describe("an approval", () => {
  test("lets the account in as a new person, named after it", async () => {
    const code = await ask("7");
    expect(await pairing.approve(` ${code.toUpperCase()} `, BY)).toEqual({
      person: "telegram-7",
      account: "telegram:7",
    });
    expect(changes).toBeGreaterThan(0);
    expect(await pairing.list()).toEqual([]);
    expect(await pairing.entry(from("7"))).toEqual({ let: "in" });
    expect(await store.person("telegram-7")).toMatchObject({ name: "Name 7", accounts: ["telegram:7"] });
  });

  test("by the account itself, and as a person who exists", async () => {
    await pairing.approve(await ask("7"), BY, "ann");
    await ask("8");
    expect(await pairing.approve("telegram:8", BY, " ann ")).toEqual({ person: "ann", account: "telegram:8" });
    expect((await store.person("ann"))?.accounts).toEqual(["telegram:7", "telegram:8"]);
  });

  test("as the owner adds an account of the owner", async () => {
    await pairing.approve(await ask("7"), BY, "owner");
    expect(await ownerAccounts({ store })).toEqual(["telegram:7"]);
    expect(await store.person("owner")).toBeUndefined();
  });

  test("of a group lets the group in, and its members not directly", async () => {
    await pairing.approve(await ask("7", group), BY);
    expect(await pairing.entry(from("8", group))).toEqual({ let: "in" });
    expect((await pairing.entry(from("7"))).let).toBe("out");
    expect((await pairing.entry(from("8", { ...group, channelId: "-200" }))).let).toBe("out");
  });

  test("of no one, or as something that is no id, is refused", async () => {
    await expect(pairing.approve("nope", BY)).rejects.toThrow("No one waits with the code nope.");
    const code = await ask("7");
    await expect(pairing.approve(code, BY, "No Person")).rejects.toThrow('"No Person" is not the id of a person.');
    expect(await pairing.list()).toHaveLength(1);
  });
});

describe("a denial", () => {
  test("ends the request, and the next message asks again", async () => {
    const code = await ask("7");
    await ask("8");
    expect((await pairing.deny(code, BY)).account).toBe("telegram:7");
    expect((await pairing.list()).map(({ account }) => account)).toEqual(["telegram:8"]);
    expect(await ask("7")).not.toBe("");
    await expect(pairing.deny("nope", BY)).rejects.toThrow("No one waits");
  });
});

describe("a block", () => {
  test("by code or by account is silent, until it is forgotten", async () => {
    const code = await ask("7");
    expect(await pairing.block(code, BY)).toBe("telegram:7");
    expect(await pairing.block(" telegram:9 ", BY)).toBe("telegram:9");
    expect(await pairing.block("telegram:9", BY)).toBe("telegram:9");
    expect(await pairing.blocked()).toEqual(["telegram:7", "telegram:9"]);
    expect(await pairing.list()).toEqual([]);
    expect(await pairing.entry(from("7"))).toEqual({ let: "out" });
    expect(await pairing.entry(from("9"))).toEqual({ let: "out" });
    expect(await pairing.forget("telegram:7", BY)).toBe("telegram:7");
    expect(await pairing.blocked()).toEqual(["telegram:9"]);
    expect(await ask("7")).not.toBe("");
    expect(await pairing.forget("telegram:7", BY)).toBe("telegram:7");
    expect(await pairing.list()).toEqual([]);
  });

  test("of a person holds in every group, and of a group for everyone in it", async () => {
    await pairing.approve(await ask("7", group), BY);
    await pairing.block("telegram:8", BY);
    expect(await pairing.entry(from("8", group))).toEqual({ let: "out" });
    expect(await pairing.entry(from("7", group))).toEqual({ let: "in" });
    await pairing.block("telegram:group:-100", BY);
    expect(await pairing.entry(from("7", group))).toEqual({ let: "out" });
  });

  test.each(["", "telegram", "telegram:", "tele gram:7", ":7"])("of %j is refused", async (given) => {
    await expect(pairing.block(given, BY)).rejects.toThrow("is neither a code nor an account");
    await expect(pairing.forget(given, BY)).rejects.toThrow("is neither a code nor an account");
  });
});

describe("a code that links an account", () => {
  const linked = { let: "out", say: "This account is linked. Write again, and you are known here." };
  beforeEach(async () => {
    await pairing.approve(await ask("7"), BY, "ann");
  });

  test.each(["/link CODE", " /start CODE ", "/LINK@bot CODE", "/link  CODE"])("works as %j, once", async (text) => {
    const code = await pairing.linkCode("ann" as PersonId);
    expect(code).toHaveLength(10);
    const said = text.replace("CODE", code.toUpperCase());
    expect(await pairing.entry(from("8", { text: said }))).toEqual(linked);
    expect(await pairing.entry(from("8"))).toEqual({ let: "in" });
    expect((await pairing.entry(from("9", { text: said }))).let).toBe("out");
    expect((await store.person("ann"))?.accounts).toEqual(["telegram:7", "telegram:8"]);
  });

  test.each(["CODE", "/links CODE", "/link CODEx", "x /link CODE", "/link"])("does not work as %j", async (text) => {
    const code = await pairing.linkCode("ann" as PersonId);
    await pairing.entry(from("8", { text: text.replace("CODE", code) }));
    expect((await store.person("ann"))?.accounts).toEqual(["telegram:7"]);
  });

  test.each([
    [127, true],
    [128, true],
    [129, false],
    [200, false],
  ])("at the end of a text of %i characters works: %s", async (length, works) => {
    const code = await pairing.linkCode("ann" as PersonId);
    const said = `/link${" ".repeat(length - "/link".length - code.length)}${code}`;
    // The space around a text does not count.
    expect(await pairing.entry(from("8", { text: `\n${said} ` }))).toEqual(
      works ? linked : expect.not.objectContaining(linked),
    );
    expect((await store.person("ann"))?.accounts).toHaveLength(works ? 2 : 1);
  });

  test("is valid for fifteen minutes, and the next code replaces it", async () => {
    const first = await pairing.linkCode("ann" as PersonId);
    const second = await pairing.linkCode("ann" as PersonId);
    const other = await pairing.linkCode("owner" as PersonId);
    expect(await pairing.entry(from("8", { text: `/link ${first}` }))).not.toEqual(linked);
    await clock.advance(15 * MINUTE - 1);
    expect(await pairing.entry(from("8", { text: `/link ${second}` }))).toEqual(linked);
    await clock.advance(1);
    expect(await pairing.entry(from("9", { text: `/link ${other}` }))).not.toEqual(linked);
    expect(await ownerAccounts({ store })).toEqual([]);
  });

  test("of the owner adds an account of the owner, and ends a request of that account", async () => {
    await ask("8");
    const code = await pairing.linkCode("owner" as PersonId);
    expect(await pairing.entry(from("8", { text: `/link ${code}` }))).toEqual(linked);
    expect(await ownerAccounts({ store })).toEqual(["telegram:8"]);
    expect(await pairing.list()).toEqual([]);
  });

  test("does nothing in a group, or for an account that is blocked", async () => {
    const code = await pairing.linkCode("ann" as PersonId);
    await pairing.entry(from("8", { ...group, text: `/link ${code}` }));
    await pairing.block("telegram:9", BY);
    expect(await pairing.entry(from("9", { text: `/link ${code}` }))).toEqual({ let: "out" });
    expect((await store.person("ann"))?.accounts).toEqual(["telegram:7"]);
  });
});

test("the owner's account from the command line ends its request and is in force at once", async () => {
  await ask("7");
  expect(await pairing.linkOwner(" telegram:7 ", BY)).toBe("telegram:7");
  expect([await ownerAccounts({ store }), await pairing.list(), changes > 0]).toEqual([["telegram:7"], [], true]);
  await expect(pairing.linkOwner("seven", BY)).rejects.toThrow("is neither a code nor an account");
});

test("two changes at the same time are both kept", async () => {
  await Promise.all([ask("7"), ask("8"), pairing.block("telegram:9", BY)]);
  expect([(await pairing.list()).length, await pairing.blocked()]).toEqual([2, ["telegram:9"]]);
});

test("a list that cannot be read is an error and not an empty one", async () => {
  await store.commit({
    id: "c" as never,
    site: "t",
    at: 1,
    ops: [{ op: "fact.put", key: "pairing", value: '{"blocked":5}', expect: null }],
  });
  await expect(pairing.list()).rejects.toThrow("The list of pairing requests cannot be read.");
});

describe("a process that is killed before its nth commit", () => {
  const opened = (over: Store): Pairing => {
    const directory = directoryOf({ store: over, clock }, STRANGERS);
    return new Pairing({ store: over, clock, ids: seededIds("killed") }, directory);
  };
  /** The same store, which does not answer after this number of commits. */
  const dying = (commits: number): Store => {
    let left = commits;
    return new Proxy(store, {
      get(target, name) {
        const value = Reflect.get(target, name) as unknown;
        if (name !== "commit") return typeof value === "function" ? value.bind(target) : value;
        return (change: Parameters<Store["commit"]>[0]) =>
          left-- > 0 ? store.commit(change) : Promise.reject(new Error("killed"));
      },
    });
  };
  const isIn = async (account: string): Promise<boolean> =>
    (await ownerAccounts({ store })).includes(account) ||
    (await store.people({ limit: 9 })).some(({ accounts }) => accounts.includes(account));
  beforeEach(async () => {
    await pairing.approve(await ask("7"), BY, "ann");
  });

  test.each(["ann", "new", "owner"])(
    "leaves the code for %s, or lets the account in: never both or neither",
    async (as) => {
      const code = await ask("8");
      await expect(opened(dying(0)).approve(code, BY, as)).rejects.toThrow("killed");
      expect([await isIn("telegram:8"), (await pairing.list()).length]).toEqual([false, 1]);
      await opened(dying(1)).approve(code, BY, as);
      expect([await isIn("telegram:8"), (await pairing.list()).length]).toEqual([true, 0]);
      await expect(pairing.approve(code, BY, "bob")).rejects.toThrow("No one waits");
    },
  );

  test.each(["ann", "owner"])("leaves the link of %s, or uses it up: nobody else gets in with it", async (as) => {
    const said = `/link ${await pairing.linkCode(as as PersonId)}`;
    await expect(opened(dying(0)).entry(from("8", { text: said }))).rejects.toThrow("killed");
    expect(await isIn("telegram:8")).toBe(false);
    await opened(dying(1)).entry(from("8", { text: said }));
    expect(await isIn("telegram:8")).toBe(true);
    await opened(store).entry(from("9", { text: said }));
    expect(await isIn("telegram:9")).toBe(false);
  });

  test("makes no person again who is gone, and asks whoever has the code instead", async () => {
    const link = await pairing.linkCode("ann" as PersonId);
    await removePerson({ store, clock, ids: seededIds("remove") }, BY, "ann");
    expect(await pairing.entry(from("8", { text: `/link ${link}` }))).toMatchObject({
      say: expect.stringContaining("code:"),
    });
    expect(await store.people({ limit: 9 })).toEqual([]);
  });
});

describe("an approval as a person whom someone else makes at the same moment", () => {
  /** The same store, in which the first look at a record finds none. */
  const late = (over: Store): Pairing => {
    let isFirst = true;
    const behind = new Proxy(over, {
      get(target, name) {
        const value = Reflect.get(target, name) as unknown;
        if (name !== "person") return typeof value === "function" ? value.bind(target) : value;
        return async (id: string) => {
          const was = isFirst;
          isFirst = false;
          return was ? undefined : target.person(id);
        };
      },
    });
    const directory = directoryOf({ store: behind, clock }, STRANGERS);
    return new Pairing({ store: behind, clock, ids: seededIds("late") }, directory);
  };

  test("links the account to that person", async () => {
    await pairing.approve(await ask("7"), BY, "ann");
    const code = await ask("8");
    expect(await late(store).approve(code, BY, "ann")).toEqual({ person: "ann", account: "telegram:8" });
    expect((await store.person("ann"))?.accounts).toEqual(["telegram:7", "telegram:8"]);
  });

  test("says so if it is the account that belongs to someone else by now", async () => {
    const code = await ask("7");
    await addPerson({ store, clock, ids: seededIds("eve") }, BY, { id: "eve", accounts: ["telegram:7"] });
    await expect(late(store).approve(code, BY, "bob")).rejects.toMatchObject({ code: "invalid_input" });
    expect(await store.person("bob")).toBeUndefined();
  });
});

test("an approval as a new person, while someone else changes rights, is a conflict: the code stays and works again", async () => {
  const code = await ask("7");
  let isFirst = true;
  const contested = new Proxy(store, {
    get(target, name) {
      const value = Reflect.get(target, name) as unknown;
      if (name !== "commit") return typeof value === "function" ? value.bind(target) : value;
      return async (change: Parameters<Store["commit"]>[0]) => {
        const was = isFirst;
        isFirst = false;
        if (was) await addPerson({ store, clock, ids: seededIds("zoe") }, BY, { id: "zoe" });
        return store.commit(change);
      };
    },
  });
  const directory = directoryOf({ store: contested, clock }, STRANGERS);
  const other = new Pairing({ store: contested, clock, ids: seededIds("contested") }, directory);
  await expect(other.approve(code, BY, "bob")).rejects.toMatchObject({ code: "conflict", hint: "Try again." });
  expect(await other.approve(code, BY, "bob")).toEqual({ person: "bob", account: "telegram:7" });
});

describe("a code that is used twice", () => {
  test("lets one in: the second answer to the same request finds nothing", async () => {
    const code = await ask("7");
    const [first, second] = await Promise.allSettled([pairing.approve(code, BY), pairing.approve(code, BY)]);
    expect(first).toMatchObject({ status: "fulfilled", value: { person: "telegram-7", account: "telegram:7" } });
    expect(second).toMatchObject({ status: "rejected", reason: { code: "not_found" } });
    expect((await store.person("telegram-7"))?.accounts).toEqual(["telegram:7"]);
  });
});

test("gives the new accounts to the listeners of the directory before anyone gets an answer", async () => {
  const directory = directoryOf({ store, clock }, STRANGERS);
  const seen: string[] = [];
  directory.onChanged((people) => void seen.push(...people.flatMap(({ accounts }) => accounts)));
  pairing = new Pairing({ store, clock, ids: seededIds("told") }, directory);
  const code = await ask("7");
  await pairing.approve(code, BY, "ann");
  expect(seen).toContain("telegram:7");
});

describe("a code for another account", () => {
  const tell = (userId: string, text: string) => pairing.entry(from(userId, { text: text }));
  const LINKED = { let: "out", say: "This account is linked. Write again, and you are known here." };

  test("works for one of two accounts that use it at the same time", async () => {
    await pairing.approve(await ask("7"), BY, "ann");
    const code = await pairing.linkCode("ann" as PersonId);
    const [first, second] = await Promise.allSettled([tell("8", `/link ${code}`), tell("9", `/link ${code}`)]);
    expect(first).toEqual({ status: "fulfilled", value: LINKED });
    expect(second).not.toEqual({ status: "fulfilled", value: LINKED });
    expect((await store.person("ann"))?.accounts).toEqual(["telegram:7", "telegram:8"]);
  });

  test("is in force when it is answered: the next message is let in", async () => {
    await pairing.approve(await ask("7"), BY, "ann");
    const before = changes;
    const code = await pairing.linkCode("ann" as PersonId);
    expect(await tell("8", ` /LINK@rook_bot ${code.toUpperCase()} `)).toEqual(LINKED);
    expect(changes).toBeGreaterThan(before);
    expect(await tell("8", "hello")).toEqual({ let: "in" });
  });

  test("of the owner is in force, without a request left, when it is done", async () => {
    await ask("7");
    await pairing.linkOwner(" telegram:7 ", BY);
    expect([await ownerAccounts({ store }), await pairing.list(), changes > 0]).toEqual([["telegram:7"], [], true]);
  });

  test("is found by the account too, with blanks around it", async () => {
    const code = await ask("7");
    expect(await pairing.deny(" telegram:7 ", BY)).toMatchObject({ code, account: "telegram:7" });
    const again = await ask("7");
    expect(await pairing.forget(` ${again.toUpperCase()} `, BY)).toBe("telegram:7");
    expect(await pairing.list()).toEqual([]);
  });
});
