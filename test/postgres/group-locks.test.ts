/**
 * What a group of changes locks before it reads anything. One connection keeps its transaction open after a change; a change
 * on the other must wait for it, because what it decides depends on it, or must not, because it concerns something else (M3, M20, M21).
 */
import type pg from "pg";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { locksOfGroup } from "../../src/adapters/store/postgres/locks.ts";
import { openPostgresStore, type PostgresStore } from "../../src/adapters/store/postgres/open-store.ts";
import type { AgentId, ChangeId, RunId } from "../../src/core/ids.ts";
import type { PersonId } from "../../src/core/people/person.ts";
import type { PersonRecord } from "../../src/core/people/person-record.ts";
import type { Change, Op, Owner } from "../../src/core/store/change.ts";
import {
  childOf,
  type Held,
  keyOf,
  postOp,
  runBody,
  START,
  userBody,
  type World,
  worldOn,
} from "../contract/fixture.ts";
import { emptied } from "./emptied.ts";
import { apply, connection, waits } from "./interleaving.ts";
import { freshDatabase } from "./shared.ts";

let store: PostgresStore;
let world: World;
let one: pg.Client;
let two: pg.Client;
let n = 0;

beforeAll(async () => {
  const url = await freshDatabase();
  store = await openPostgresStore({ url, leaseClock: "changes" });
  [one, two] = [await connection(url), await connection(url)];
});
beforeEach(async () => {
  await emptied(store);
  world = await worldOn(store);
});
afterAll(async () => {
  await one.end();
  await two.end();
  await store.close();
});

const change = (ops: readonly Op[], owner?: Owner): Change => ({
  id: `locks-${n++}` as ChangeId,
  site: "locks",
  at: world.now++,
  owner,
  ops,
});

/** Applies the first change, then the second while the first is not committed yet; the answer of the second. `look` sees the second wait. */
async function answerAfter(
  first: Change,
  second: Change,
  batched = false,
  look = async (): Promise<void> => undefined,
): Promise<unknown> {
  await one.query("BEGIN");
  await apply(one, [first]);
  const answer = apply(two, [second], batched);
  answer.catch(() => undefined);
  const waited = await waits(store, answer, two);
  await look().finally(() => one.query("COMMIT"));
  expect(waited).toBe(true);
  return answer;
}

/** The same for changes that have nothing to do with each other. */
async function answerBeside(first: Change, second: Change): Promise<unknown> {
  await one.query("BEGIN");
  await apply(one, [first]);
  const answer = apply(two, [second]);
  answer.catch(() => undefined);
  const waited = await waits(store, answer, two);
  await one.query("COMMIT");
  expect(waited).toBe(false);
  return answer;
}

const R = "r" as RunId;
const stop = ({ id }: Held): Op => ({ op: "agent.stop", agentId: id, mark: { at: 1, reason: "x" } });
const begin = (runId: RunId = R): Op => ({ op: "run.open", runId, body: runBody() });

describe("names", () => {
  test("of two waits that would close a cycle together, the second is refused", async () => {
    const [a, b] = [await world.agent("a"), await world.agent("b")];
    await world.openRun(a, "ra");
    await world.openRun(b, "rb");
    const wait = (from: Held, to: Held, run: string): Op => ({
      ...{ op: "wait.begin", id: run, from: from.id, to: { agentId: to.id }, runId: run as RunId },
    });
    const answer = await answerAfter(change([wait(a, b, "ra")]), change([wait(b, a, "rb")]));
    expect(answer).toMatchObject([{ refused: "cycle" }]);
  });

  test("of two first writers of a fact that must not exist, the second is refused", async () => {
    const put = (value: string): Op => ({ op: "fact.put", key: "f", value, expect: null });
    expect(await answerAfter(change([put("1")]), change([put("2")]))).toMatchObject([{ refused: "conflict" }]);
    expect(await store.fact("f")).toBe("1");
  });

  test("facts of different keys do not wait for each other", async () => {
    const put = (key: string): Change => change([{ op: "fact.put", key, value: "1" }]);
    await answerBeside(put("f"), put("g"));
  });
});

describe("agents by session key and by run", () => {
  test("messages to one session key get sequences in the order of their commits", async () => {
    await world.agent("a");
    const post = (text: string): Change => change([postOp({ sessionKey: keyOf("a") }, userBody(text), START)]);
    expect(await answerAfter(post("first"), post("second"), true)).toMatchObject([{ said: { seq: 2 } }]);
  });

  test("messages to two session keys do not wait for each other", async () => {
    await world.agent("a");
    await world.agent("b");
    const post = (name: string): Change => change([postOp({ sessionKey: keyOf(name) }, userBody("x"), START)]);
    await answerBeside(post("a"), post("b"));
  });

  test.each([true, false])("a step that comes after an abort mark is refused (batched: %s)", async (batched) => {
    const a = await world.agent("a");
    await world.openRun(a, R);
    const step = change([{ op: "run.step", runId: R, body: runBody() }], { ...a.owner, run: { id: R, step: 1 } });
    const abort = change([{ op: "run.abort", runId: R, mark: { reason: "person", at: 1 } }]);
    const answer = answerAfter(abort, step, batched);
    if (batched) await expect(answer).rejects.toMatchObject({ code: "RKSLW" });
    else expect(await answer).toMatchObject([{ refused: "aborted" }]);
    expect(await store.run(R)).toMatchObject({ step: 1 });
  });
});

describe("budgets", () => {
  const KEY = "tree:t";
  const CALL = { prompt: 10, maxTokens: 90, leastTokens: 10, read: 0, write: 0 };
  const reserve = (id: string, { owner }: Held, key = KEY, tokens = 150): Change =>
    change([{ op: "budget.reserve", id, runId: R, call: CALL, rows: [{ key, limit: { tokens } }] }], owner);
  const decided = (kind: string) => [{ ok: { 0: { decision: { kind } } } }];

  test("two first reservations on one row never exceed its limit", async () => {
    const [a, b] = [await world.agent("a"), await world.agent("b")];
    expect(await answerAfter(reserve("1", a), reserve("2", b))).toMatchObject(decided("wait"));
  });

  test("reservations on different rows do not wait for each other", async () => {
    const [a, b] = [await world.agent("a"), await world.agent("b")];
    expect(await answerBeside(reserve("1", a), reserve("2", b, "tree:u"))).toMatchObject(decided("go"));
  });

  test.each<[string, Op, string]>([
    ["the result of a call", { op: "budget.settle", id: "1", actual: { tokens: 20, micros: 0 } }, "go"],
    ["a run whose results stay unknown", { op: "budget.forfeit", runId: R }, "reached"],
    ["the sweep of old reservations", { op: "budget.sweep", reservedBefore: START * 2, rowsBefore: 0 }, "reached"],
    ["a charge", { op: "budget.charge", key: KEY, spent: { tokens: 140, micros: 0 } }, "reached"],
  ])("a call is decided by what %s leaves", async (_, ending, kind) => {
    const [a, b] = [await world.agent("a"), await world.agent("b")];
    await store.commit(reserve("1", a, KEY, 110));
    expect(await answerAfter(change([ending]), reserve("2", b, KEY, 110))).toMatchObject(decided(kind));
  });
});

describe("stops", () => {
  test("no run starts and no agent is made anywhere below a stop that is being committed", async () => {
    const root = await world.agent("root");
    const child = await world.agent("child", childOf(root.id, "child"));
    const grandchild = await world.agent("grandchild", childOf(child.id, "grandchild"));
    const seed = world.seed("late", childOf(grandchild.id, "late"));
    for (const second of [
      () => change([begin()], grandchild.owner),
      () => change([{ op: "agent.create", seed }]),
      () => change([postOp({ sessionKey: seed.sessionKey, create: seed }, userBody("x"), START)]),
    ]) {
      expect(await answerAfter(change([stop(root)]), second())).toMatchObject([{ refused: "stopped" }]);
      await world.done([{ op: "agent.stop", agentId: root.id, mark: null }]);
    }
  });

  test("runs below one agent start side by side", async () => {
    const root = await world.agent("root");
    const [b, c] = [await world.agent("b", childOf(root.id, "b")), await world.agent("c", childOf(root.id, "c"))];
    const deeper = await world.agent("deeper", childOf(c.id, "deeper"));
    await answerBeside(change([begin()], b.owner), change([begin("s" as RunId)], deeper.owner));
  });

  test("a stop does not delay the agents of another tree", async () => {
    const trees: Held[][] = [];
    for (const name of ["x", "y"]) {
      const root = await world.agent(name);
      const child = await world.agent(`${name}1`, childOf(root.id, `${name}1`));
      trees.push([root, child, await world.agent(`${name}2`, childOf(child.id, `${name}2`))]);
    }
    const [[root], [other, , deep]] = trees as [[Held, Held, Held], [Held, Held, Held]];
    await answerBeside(change([stop(root)]), change([begin()], deep.owner));
    await answerBeside(change([stop(trees[0]?.[1] ?? root)]), change([begin("s" as RunId)], other.owner));
  });
});

describe("the order of locks", () => {
  /** The advisory locks of the second connection: those that it has, and the one for which it waits. */
  async function locksOfTwo(): Promise<{ readonly has: readonly bigint[]; readonly wants: readonly bigint[] }> {
    const { rows } = await one.query<{ lock: string; granted: boolean }>(
      `SELECT (classid::bigint << 32) | objid::bigint AS lock, granted FROM pg_locks
       WHERE locktype = 'advisory' AND objsubid = 1 AND pid = $1`,
      [(two as unknown as { processID: number }).processID],
    );
    const locks = (wanted: boolean) =>
      rows.flatMap(({ lock, granted }) => (granted === wanted ? [BigInt(lock)] : [])).sort((a, b) => (a < b ? -1 : 1));
    return { has: locks(true), wants: locks(false) };
  }

  /** The first made has the last id. */
  async function twelveAgents(): Promise<readonly AgentId[]> {
    const ids: AgentId[] = [];
    for (let number = 30; ids.length < 12; number--) ids.push((await world.agent(`a${number}`)).id);
    return ids;
  }

  test("of many agents is that of their ids, not that in which they were made", async () => {
    const ids = (await twelveAgents()).toSorted();
    const posts = (to: readonly AgentId[]): Change =>
      change(to.map((agentId) => postOp({ agentId }, userBody("x"), START)));
    await answerAfter(posts(ids.slice(6, 7)), posts(ids), false, async () => {
      const free = "SELECT id FROM agents WHERE id = ANY ($1) FOR UPDATE SKIP LOCKED";
      const { rows } = await one.query<{ id: AgentId }>(free, [ids]);
      expect(rows.map(({ id }) => id).sort()).toEqual(ids.slice(6));
    });
  });

  test.each<[string, number, (names: readonly string[]) => Op[]]>([
    ["facts", 7, (names) => names.map((key) => ({ op: "fact.put", key, value: "1" }))],
    ["stops", 11, (names) => names.map((id) => stop({ id } as Held))],
    ["budgets", 13, (names) => names.map((key) => ({ op: "budget.charge", key, spent: { tokens: 1, micros: 0 } }))],
  ])("of many %s is one for all groups, so no two wait for each other", async (kind, salt, ops) => {
    const names = await twelveAgents();
    const all = change(ops(names));
    const { names: texts, stops, budgets } = locksOfGroup([all]);
    const { rows } = await one.query<{ text: string; lock: string }>(
      "SELECT text, hashtextextended(text, $2) AS lock FROM unnest($1::text[]) AS text ORDER BY 2",
      [{ facts: texts, stops, budgets }[kind], salt],
    );
    expect(rows).toHaveLength(12);
    const middle = names.findIndex((name) => rows[6]?.text.endsWith(name));
    const answer = answerAfter(change(ops(names.slice(middle, middle + 1))), all, false, async () => {
      const { has, wants } = await locksOfTwo();
      expect(wants).toEqual(rows.slice(6, 7).map(({ lock }) => BigInt(lock)));
      expect(has).toEqual(rows.slice(0, 6).map(({ lock }) => BigInt(lock)));
    });
    expect(await answer).toMatchObject([{ ok: {} }]);
  });
});

describe("rights", () => {
  const person: PersonRecord = {
    ...{ id: "ann" as PersonId, role: "guest", accounts: [], grants: [] },
    ...{ createdAt: START, createdBy: "owner" },
  } as PersonRecord;
  const put = (): Change => change([{ op: "person.put", person }]);

  test.each([true, false])(
    "a step decided before a change of rights is refused after it (batched: %s)",
    async (batched) => {
      const a = await world.agent("a");
      const rights = await store.rightsRevision();
      const answer = answerAfter(put(), change([begin()], { ...a.owner, rights }), batched);
      if (batched) await expect(answer).rejects.toMatchObject({ code: "RKSLW" });
      else expect(await answer).toMatchObject([{ refused: "rights" }]);
      expect(await store.run(R)).toBeUndefined();
    },
  );

  test("a change of rights waits for a step that was decided before it", async () => {
    const a = await world.agent("a");
    const rights = await store.rightsRevision();
    expect(await answerAfter(change([begin()], { ...a.owner, rights }), put())).toMatchObject([{ ok: {} }]);
    expect(await store.rightsRevision()).toBe(rights + 1);
  });

  test("steps decided by the same rights do not wait for each other", async () => {
    const [a, b] = [await world.agent("a"), await world.agent("b")];
    const rights = await store.rightsRevision();
    await answerBeside(
      change([begin()], { ...a.owner, rights }),
      change([begin("s" as RunId)], { ...b.owner, rights }),
    );
  });
});
