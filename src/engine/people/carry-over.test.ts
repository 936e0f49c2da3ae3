/** Conversations after a change of `session.dmScope`: which are left behind, and that carrying them over keeps everything else. */
import { beforeEach, describe, expect, test } from "vitest";
import { virtualClock } from "../../../test/kit/clock.ts";
import { seededIds } from "../../../test/kit/ids.ts";
import { openMemoryStore } from "../../adapters/store/sqlite/open-store.ts";
import type { AgentRecord } from "../../core/agent/agent.ts";
import { type DmScope, sessionKeyOf } from "../../core/agent/session-key.ts";
import type { ChangeId, SessionKey } from "../../core/ids.ts";
import { CONVERSATIONS_FACT, RIGHTS_REVISION } from "../../core/store/change.ts";
import type { Store } from "../../core/store/store.ts";
import { carryOver, carryPlan, carryWarning, leaveBehind } from "./carry-over.ts";
import { changeBook, noteScope, readBook } from "./conversation-book.ts";
import { linksOfPeople } from "./links-of-people.ts";

const BY = { person: "owner", surface: "cli" };
let clock = virtualClock();
let store: Store;
let ports: { store: Store; clock: typeof clock; ids: ReturnType<typeof seededIds> };
let changes = 0;
const settings = (dmScope?: DmScope, more: object = {}) => ({
  session: { dmScope, ...more },
  owner: { accounts: ["test:olga"] },
});

beforeEach(() => {
  clock = virtualClock();
  store = openMemoryStore();
  ports = { store, clock, ids: seededIds("carry") };
});

const descriptorOf = (userId: string, connector = "test") =>
  ({ type: "user", connector, userId, channelId: userId }) as const;

/** A conversation as it began under a scope. `store`: what a plan reads, with these agents in it. */
function conversations(
  ...agents: readonly { user: string; scope: DmScope; at?: number; connector?: string; speakers?: string[] }[]
) {
  const records = agents.map(({ user, scope, at, connector, speakers }, n) => {
    const descriptor = descriptorOf(user, connector);
    const sessionKey = sessionKeyOf(descriptor, "main", { dmScope: scope, ownerAccounts: ["test:olga"] });
    return {
      ...{ id: `a${String(n).padStart(6, "0")}`, profile: "main", descriptor, sessionKey, lastHumanAt: at },
      ...{ person: `${connector ?? "test"}:${user}`, state: { speakers } },
    } as unknown as AgentRecord;
  });
  const pages: number[] = [];
  const reader = {
    fact: (key: string) => store.fact(key),
    people: store.people.bind(store),
    agentByKey: async (key: SessionKey) => records.find(({ sessionKey }) => sessionKey === key),
    agentsOfKind: async (_kind: string, { limit, after = "" }: { limit: number; after?: string }) => {
      const page = records.filter(({ id }) => id > after).slice(0, limit);
      pages.push(page.length);
      return page;
    },
  };
  return {
    store: { ...reader, commit: store.commit.bind(store), outcome: store.outcome?.bind(store) } as unknown as Store,
    records,
    pages,
  };
}
const keyOf = (user: string, scope: DmScope, connector?: string): string =>
  sessionKeyOf(descriptorOf(user, connector), "main", { dmScope: scope, ownerAccounts: ["test:olga"] });

test("a plan looks at a hundred thousand conversations, and says that there may be more", async () => {
  const looked = async (count: number) => {
    let pages = 0;
    const agents = Array.from({ length: 500 }, (_none, n) => ({
      ...{ id: `a${n}`, profile: "main", descriptor: descriptorOf("x"), sessionKey: "k", state: {} },
    }));
    const reader = {
      ...{ fact: async () => undefined, people: async () => [], agentByKey: async () => undefined },
      agentsOfKind: async () => agents.slice(0, Math.max(0, count - 500 * pages++)),
    };
    const plan = await carryPlan({ store: reader as unknown as Store }, settings("per-peer"));
    return [pages, plan.isPartial];
  };
  expect(await looked(1_200)).toEqual([3, false]);
  expect(await looked(150_000)).toEqual([200, true]);
});

describe("the book of conversations", () => {
  test("begins with the default scope, and notes each change of it once", async () => {
    const first = await readBook(ports);
    expect(first).toMatchObject({ earlier: [], since: 0, carried: {} });
    expect(await noteScope(ports, first.scope)).toBeUndefined();
    expect(await store.fact(CONVERSATIONS_FACT)).toBeUndefined();
    await clock.advance(5);
    expect(await noteScope(ports, "per-peer")).toBe(first.scope);
    expect(await readBook(ports)).toEqual({
      scope: "per-peer",
      earlier: [first.scope],
      since: clock.now(),
      carried: {},
    });
    expect(await noteScope(ports, "per-channel-peer")).toBe("per-peer");
    // Back again: what is in force is not among the earlier ones.
    expect(await noteScope(ports, "per-peer")).toBe("per-channel-peer");
    expect((await readBook(ports)).earlier).toEqual(["per-channel-peer"]);
  });

  test("moves the revision of rights with each change, so that every node reads it again", async () => {
    await changeBook(ports, (book) => ({ ...book, carried: { a: "b" } }));
    expect(await store.fact(RIGHTS_REVISION)).toBe("1");
    await changeBook(ports, (book) => ({ ...book, carried: { ...book.carried, c: "d" } }));
    expect(await store.fact(RIGHTS_REVISION)).toBe("2");
    await changeBook(ports, () => undefined);
    expect(await store.fact(RIGHTS_REVISION)).toBe("2");
    expect((await readBook(ports)).carried).toEqual({ a: "b", c: "d" });
  });

  test("is changed again on what another node wrote meanwhile, eight times at most", async () => {
    const contested = (times: number): Store => {
      let left = times;
      return new Proxy(store, {
        get(target, name) {
          if (name !== "commit") return Reflect.get(target, name).bind?.(target) ?? Reflect.get(target, name);
          return async (change: Parameters<Store["commit"]>[0]) => {
            if (left-- > 0)
              await changeBook(ports, (book) => ({ ...book, carried: { ...book.carried, [`n${++changes}`]: "x" } }));
            return store.commit(change);
          };
        },
      });
    };
    const added = await changeBook({ ...ports, store: contested(7) }, (book) => ({
      ...book,
      carried: { ...book.carried, mine: "y" },
    }));
    expect(Object.keys(added.carried)).toHaveLength(8);
    await expect(changeBook({ ...ports, store: contested(8) }, (book) => ({ ...book, since: 5 }))).rejects.toThrow(
      "at the same moment",
    );
    expect((await readBook(ports)).since).toBe(0);
  });

  test("drops what was carried first beyond its limit", async () => {
    const many = Object.fromEntries(Array.from({ length: 20_001 }, (_, n) => [`k${n}`, "x"]));
    const { carried } = await changeBook(ports, (book) => ({ ...book, carried: many }));
    expect(Object.keys(carried)).toHaveLength(20_000);
    expect(carried).not.toHaveProperty("k0");
    expect(await readBook(ports)).toMatchObject({ carried });
  });

  test("that cannot be read is an error", async () => {
    const op = { op: "fact.put", key: CONVERSATIONS_FACT, value: '{"scope":"x"}' } as const;
    await store.commit({ id: "c" as ChangeId, site: "test", at: 1, ops: [op] });
    await expect(readBook(ports)).rejects.toThrow("cannot be read");
  });
});

describe("a plan", () => {
  beforeEach(async () => {
    await noteScope(ports, "per-peer");
    await noteScope(ports, "per-channel-peer");
    // Both are earlier ones now, whatever the default is.
    await noteScope(ports, "per-account-channel-peer");
  });

  test("looks at nothing while the scope never changed", async () => {
    store = openMemoryStore();
    const { store: reader, pages } = conversations({ user: "ann", scope: "per-peer" });
    const { scope } = await readBook({ store });
    expect(await carryPlan({ store: reader }, settings(scope))).toEqual({
      scope,
      earlier: [],
      items: [],
      isPartial: false,
    });
    expect(await carryPlan({ store: reader }, settings())).toMatchObject({ scope, earlier: [] });
    expect(pages).toEqual([]);
  });

  test("puts the latest first, and those that nobody wrote in last", async () => {
    const at = [5, undefined, 9, 7];
    const { store: reader } = conversations(
      ...at.map((time, n) => ({ user: `u${n}`, scope: "per-peer" as const, at: time })),
    );
    const { items } = await carryPlan({ store: reader }, settings("per-account-channel-peer"));
    expect(items.map(({ lastHumanAt }) => lastHumanAt)).toEqual([9, 7, 5, undefined]);
  });

  test("offers what began under an earlier scope, the latest first, and not what goes on as it is", async () => {
    const { store: reader } = conversations(
      { user: "ann", scope: "per-peer", at: 5 },
      { user: "bob", scope: "per-peer", at: 9 },
      { user: "eve", scope: "per-peer" },
      { user: "now", scope: "per-account-channel-peer", at: 7 },
      { user: "olga", scope: "per-peer", at: 8 },
    );
    const plan = await carryPlan({ store: reader }, settings("per-account-channel-peer"));
    expect(plan.scope).toBe("per-account-channel-peer");
    expect(plan.earlier).not.toContain("per-account-channel-peer");
    expect(plan.isPartial).toBe(false);
    expect(plan.items.map(({ from }) => from)).toEqual(["bob", "ann", "eve"].map((user) => keyOf(user, "per-peer")));
    expect(plan.items.map(({ to }) => to)).toEqual(
      ["bob", "ann", "eve"].map((user) => keyOf(user, "per-account-channel-peer")),
    );
    expect(plan.items.every(({ stays }) => stays === undefined)).toBe(true);
  });

  test("says why something stays: shared, begun since, older", async () => {
    const { store: reader } = conversations(
      { user: "ann", scope: "per-peer", at: 5, speakers: ["bob"] },
      { user: "bob", scope: "per-peer", at: 5 },
      { user: "bob", scope: "per-account-channel-peer", at: 6 },
      { user: "eve", scope: "per-peer", at: 5 },
      { user: "eve", scope: "per-account-channel-peer", at: 5 },
      { user: "fay", scope: "per-peer", at: 5 },
      { user: "fay", scope: "per-channel-peer", at: 6 },
      { user: "gil", scope: "per-peer" },
      { user: "gil", scope: "per-account-channel-peer" },
    );
    const { items } = await carryPlan({ store: reader }, settings("per-account-channel-peer"));
    const why = Object.fromEntries(items.map(({ from, stays }) => [from, stays ?? "offered"]));
    expect(why).toEqual({
      [keyOf("ann", "per-peer")]: "shared",
      [keyOf("bob", "per-peer")]: "begun",
      // At the same moment is not newer.
      [keyOf("eve", "per-peer")]: "offered",
      [keyOf("fay", "per-peer")]: "older",
      [keyOf("fay", "per-channel-peer")]: "offered",
      [keyOf("gil", "per-peer")]: "offered",
    });
  });

  test("of a scope that is not in force yet", async () => {
    const { store: reader } = conversations({ user: "ann", scope: "per-account-channel-peer", at: 5 });
    const plan = await carryPlan({ store: reader }, settings("per-account-channel-peer"), "per-peer");
    expect(plan.scope).toBe("per-peer");
    expect(plan.items).toHaveLength(1);
  });

  test("reads more than a page of conversations", async () => {
    const many = (count: number) =>
      conversations(...Array.from({ length: count }, (_, n) => ({ user: `u${n}`, scope: "per-peer" as const, at: n })));
    const full = many(500);
    expect((await carryPlan({ store: full.store }, settings("per-account-channel-peer"))).items).toHaveLength(500);
    expect(full.pages).toEqual([500, 0]);
    const more = many(501);
    expect((await carryPlan({ store: more.store }, settings("per-account-channel-peer"))).items).toHaveLength(501);
    expect(more.pages).toEqual([500, 1]);
  });
});

describe("carrying over", () => {
  const scope = "per-account-channel-peer";
  beforeEach(async () => {
    await noteScope(ports, "per-peer");
    await noteScope(ports, scope);
  });
  const world = () =>
    conversations(
      { user: "ann", scope: "per-peer", at: 5 },
      { user: "bob", scope: "per-peer", at: 5 },
      { user: "bob", scope, at: 6 },
    );

  test("joins the key by the new scope with the conversation, in one commit with its row of the audit log", async () => {
    const { store: reader } = world();
    const done = await carryOver({ ...ports, store: reader }, settings(scope), {}, BY);
    expect(done.map(({ from }) => from)).toEqual([keyOf("ann", "per-peer")]);
    const book = await readBook(ports);
    expect(book).toMatchObject({ scope, earlier: [], carried: { [keyOf("ann", scope)]: keyOf("ann", "per-peer") } });
    expect((await store.audit({ limit: 1 }))[0]).toMatchObject({ action: "conversations.carry-over", target: scope });
    // The next plan has nothing left.
    expect((await carryPlan({ store: reader }, settings(scope))).items).toEqual([]);
  });

  test("replaces a newer conversation only if it is asked to", async () => {
    const { store: reader } = world();
    const done = await carryOver({ ...ports, store: reader }, settings(scope), { replace: true }, BY);
    expect(done).toHaveLength(2);
    expect((await readBook(ports)).carried).toMatchObject({ [keyOf("bob", scope)]: keyOf("bob", "per-peer") });
  });

  test("never carries what is shared", async () => {
    const { store: reader } = conversations({ user: "ann", scope: "per-peer", at: 5, speakers: ["bob"] });
    expect(await carryOver({ ...ports, store: reader }, settings(scope), { replace: true }, BY)).toEqual([]);
  });

  test("to a scope that is not in force leaves the question open", async () => {
    const { store: reader } = conversations({ user: "ann", scope, at: 5 });
    const before = await readBook(ports);
    expect(await carryOver({ ...ports, store: reader }, settings(scope), { scope: "per-peer" }, BY)).toHaveLength(1);
    const after = await readBook(ports);
    expect(after).toMatchObject({ scope: before.scope, earlier: before.earlier });
    expect(Object.keys(after.carried)).toHaveLength(1);
  });

  test("what is carried again goes to the end", async () => {
    const [ann, old] = [keyOf("ann", scope), "agent:main:x"];
    await changeBook(ports, (book) => ({ ...book, carried: { [ann]: "agent:main:gone", [old]: "y" } }));
    const { store: reader } = world();
    await carryOver({ ...ports, store: reader }, settings(scope), {}, BY);
    expect(Object.entries((await readBook(ports)).carried)).toEqual([
      [old, "y"],
      [ann, keyOf("ann", "per-peer")],
    ]);
  });

  test("or leaving behind ends the question", async () => {
    await leaveBehind(ports, settings(scope), BY);
    expect(await readBook(ports)).toMatchObject({ scope, earlier: [], carried: {} });
    expect((await store.audit({ limit: 1 }))[0]).toMatchObject({ action: "conversations.leave" });
  });
});

test.each([
  [0, 0, true, undefined],
  [
    1,
    0,
    true,
    "leaves 1 conversation behind: the next message of each person begins a new one; 1 can be carried over.",
  ],
  [
    2,
    0,
    false,
    "would leave 2 conversations behind: the next message of each person begins a new one; 2 can be carried over.",
  ],
  [
    1,
    1,
    true,
    "leaves 2 conversations behind: the next message of each person begins a new one; 1 can be carried over, 1 cannot.",
  ],
  [
    0,
    2,
    true,
    "leaves 2 conversations behind: the next message of each person begins a new one; none of them can be carried over.",
  ],
])("%d that can and %d that cannot be carried, in force %s", (offered, kept, isInForce, text) => {
  const items = [...Array(offered).fill({}), ...Array(kept).fill({ stays: "older" })];
  const warning = carryWarning({ scope: "per-peer", earlier: [], items, isPartial: false }, isInForce);
  expect(warning).toBe(text && `session.dmScope "per-peer" ${text}`);
});

test("the accounts of all people who have some are links, beyond a page of people", async () => {
  const all = Array.from({ length: 501 }, (_, n) => ({
    id: `p${String(n).padStart(4, "0")}`,
    accounts: n === 3 ? [] : [`test:${n}`],
  }));
  const asked: number[] = [];
  const people = async ({ limit, after = "" }: { limit: number; after?: string }) => {
    const page = all.filter(({ id }) => id > after).slice(0, limit);
    asked.push(page.length);
    return page as never;
  };
  const links = await linksOfPeople({ people });
  expect(asked).toEqual([500, 1]);
  expect(Object.keys(links)).toHaveLength(500);
  expect(links).toMatchObject({ p0000: ["test:0"], p0500: ["test:500"] });
  expect(links).not.toHaveProperty("p0003");
});
