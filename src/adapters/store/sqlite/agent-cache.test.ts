/** Which rows of agents are read and written, and when: a warm agent costs no read, and a row is written once. */
import { afterEach, expect, test, vi } from "vitest";
import { childOf, idOf, keyOf, postOp, START, userBody } from "../../../app/testing/store-world.ts";
import { freshState } from "../../../core/agent/fresh-state.ts";
import type { AgentId } from "../../../core/ids.ts";
import { stoppedBy } from "./agent-cache.ts";
import type { Database } from "./database.ts";
import { memoryWorld } from "./memory-world.test-kit.ts";

const MAX_CACHED = 10_000;
const [A, B] = [idOf("a"), idOf("b")];

const open: Database[] = [];
afterEach(() => {
  for (const db of open.splice(0)) db.close();
});

/** Two agents, and what is read from and written to the table of agents from now on. */
async function twoAgents() {
  const { world, db } = await memoryWorld();
  open.push(db);
  const [a, b] = [await world.agent("a"), await world.agent("b")];
  const get = vi.spyOn(db, "get");
  const run = vi.spyOn(db, "run");
  const count = (spy: typeof get | typeof run, text: RegExp): number => {
    const found = spy.mock.calls.filter(([sql]) => text.test(sql)).length;
    spy.mockClear();
    return found;
  };
  const reads = () => count(get, /^SELECT.*FROM agents/su);
  const writes = () => count(run, /^UPDATE agents/u);
  return { world, db, a, b, cache: db.agentCache, reads, writes };
}

test("a row is read once, by its id, its number or its key", async () => {
  const { cache, reads } = await twoAgents();
  cache.clear();
  const found = cache.find(A);
  expect(found).toMatchObject({ id: A, no: 1, session_key: keyOf("a"), dirty: "no" });
  expect(reads()).toBe(1);
  expect([cache.find(A), cache.get(A), cache.byNumber(1)]).toEqual([found, found, found]);
  expect(reads()).toBe(0);
  // A key is known only after it was looked up, and leads to the same row.
  expect(cache.byKey(keyOf("a"))).toBe(found);
  expect(reads()).toBe(1);
  expect(cache.byKey(keyOf("a"))).toBe(found);
  expect(reads()).toBe(0);
  expect(cache.byNumber(2)).toBe(cache.find(B));
  expect(reads()).toBe(1);
});

test("what does not exist is not found, and an agent that a change needs refuses it", async () => {
  const { cache } = await twoAgents();
  expect(cache.find(idOf("none"))).toBeUndefined();
  expect(cache.byKey(keyOf("none"))).toBeUndefined();
  expect(() => cache.get(idOf("none"))).toThrow(`There is no agent ${idOf("none")}.`);
  expect(() => cache.byNumber(9)).toThrow("There is no agent number 9.");
});

test("a changed row is written once, and only what changed", async () => {
  const { db, cache, writes } = await twoAgents();
  const stored = () => ({ ...db.get<object>("SELECT waiting, leaf, state FROM agents WHERE no = 1") });
  const before = stored();
  const agent = cache.get(A);
  Object.assign(agent, { waiting: 3, leaf: "moved", state: "{}" });
  cache.touch(agent, "inbox");
  cache.write();
  expect([stored(), writes()]).toEqual([{ ...before, waiting: 3 }, 1]);
  cache.write();
  expect(writes()).toBe(0);
  // All of the row stays to be written, whatever is touched after it.
  cache.touch(agent, "all");
  cache.touch(agent, "inbox");
  cache.write();
  expect([stored(), writes()]).toEqual([{ ...before, waiting: 3, leaf: "moved" }, 1]);
  agent.state = '{"new":1}';
  cache.touch(agent, "inbox");
  cache.touch(agent, "all");
  cache.write();
  expect([stored(), writes()]).toEqual([{ waiting: 3, leaf: "moved", state: '{"new":1}' }, 1]);
  expect(agent).toMatchObject({ dirty: "no", state: undefined });
});

test("a state is written with its own change only", async () => {
  const { world, db, a, writes } = await twoAgents();
  await world.done([{ op: "state.put", state: freshState(START) }], a.owner);
  db.run("UPDATE agents SET state = '{}' WHERE no = 1");
  writes();
  await world.done([{ op: "leaf.move", leaf: "moved" as never }], a.owner);
  expect(writes()).toBe(1);
  expect(db.get("SELECT leaf, state FROM agents WHERE no = 1")).toEqual({ leaf: "moved", state: "{}" });
});

test.each([
  ["dropped", (cache: Database["agentCache"]) => cache.drop(cache.get(A))],
  ["forgotten after a rollback", (cache: Database["agentCache"]) => cache.clear()],
])("a row that is %s is not written, and is read again", async (_title, forget) => {
  const { cache, reads, writes } = await twoAgents();
  const agent = cache.get(A);
  expect(cache.byKey(keyOf("a"))).toBe(agent);
  agent.waiting = 9;
  cache.touch(agent, "all");
  forget(cache);
  cache.write();
  expect(writes()).toBe(0);
  reads();
  const again = cache.byNumber(1);
  expect([again === agent, again.waiting, reads()]).toEqual([false, 0, 1]);
  expect([cache.find(A), cache.byKey(keyOf("a"))]).toEqual([again, again]);
});

test("a dropped row takes no other row with it", async () => {
  const { cache, reads } = await twoAgents();
  const b = cache.byKey(keyOf("b"));
  cache.drop(cache.get(A));
  reads();
  expect([cache.find(B), cache.byNumber(2), cache.byKey(keyOf("b"))]).toEqual([b, b, b]);
  expect(reads()).toBe(0);
});

test("the key of a removed agent leads to the agent that takes it, also while both are cached", async () => {
  const { world, cache } = await twoAgents();
  const removed = cache.byKey(keyOf("a"));
  await world.done([{ op: "agent.remove", agentId: A, reason: "x" }]);
  expect(cache.byKey(keyOf("a"))).toBeUndefined();
  await world.done([{ op: "agent.create", seed: { ...world.seed("new"), sessionKey: keyOf("a") } }]);
  expect(cache.byKey(keyOf("a"))?.id).toBe(idOf("new"));
  // The removed row still has the key it had, and gives up only what is its own.
  if (removed) cache.unkey(removed);
  expect(cache.byKey(keyOf("a"))?.id).toBe(idOf("new"));
});

test("a warm agent's message costs no read of its row and one write, and so does a group that is refused", async () => {
  const { world, reads, writes } = await twoAgents();
  await world.post(A);
  reads();
  writes();
  await world.post(A);
  expect([reads(), writes()]).toEqual([0, 1]);
  expect(await world.refused([postOp({ agentId: A }, userBody("x"), START), { op: "file.remove", id: "none" }])).toBe(
    "missing",
  );
  expect(writes()).toBe(0);
  expect(await world.store.agent(A)).toMatchObject({ waiting: 2, nextSeq: 3 });
  await world.post(A);
  expect(await world.store.agent(A)).toMatchObject({ waiting: 3, nextSeq: 4 });
});

test("a changed row is written in the transaction of its change", async () => {
  const { world, db, writes } = await twoAgents();
  const steps: unknown[] = [];
  const exec = db.sql.exec.bind(db.sql);
  db.sql.exec = (text) => {
    steps.push(text, writes());
    exec(text);
  };
  await world.post(A);
  expect([...steps, writes()]).toEqual(["BEGIN IMMEDIATE", 0, "COMMIT", 1, 0]);
});

test("the cache keeps its rows between groups until there are too many", async () => {
  const { world, db, cache, reads } = await twoAgents();
  db.sql.exec(`INSERT INTO agents SELECT * FROM (
    WITH RECURSIVE n (n) AS (SELECT 3 UNION ALL SELECT n + 1 FROM n WHERE n < ${MAX_CACHED + 1})
    SELECT n.n, 'many' || n.n, 'key' || n.n, ${columnsAfterKey(db)} FROM n JOIN agents ON agents.no = 1)`);
  for (let no = 1; no <= MAX_CACHED; no++) cache.byNumber(no);
  reads();
  await world.done([{ op: "wait.end", id: "none" }]);
  expect(cache.find(A)?.no).toBe(1);
  expect(reads()).toBe(0);
  cache.find(`many${MAX_CACHED + 1}` as AgentId);
  reads();
  await world.done([{ op: "wait.end", id: "none" }]);
  expect(cache.find(A)?.no).toBe(1);
  expect(reads()).toBe(1);
});

test("a stop reaches descendants over 64 generations, and a parent that does not exist stops nobody", async () => {
  const { world, db, cache } = await twoAgents();
  const nameOf = (n: number): string => `g${n}`;
  for (let n = 0; n <= 65; n++) {
    const descriptor = n === 0 ? undefined : childOf(idOf(nameOf(n - 1)), nameOf(n));
    await world.done([{ op: "agent.create", seed: world.seed(nameOf(n), descriptor) }]);
  }
  const stopped = (n: number): AgentId | undefined => stoppedBy(db, cache.get(idOf(nameOf(n))));
  expect([0, 1, 64].map(stopped)).toEqual([undefined, undefined, undefined]);
  const root = idOf(nameOf(0));
  await world.done([{ op: "agent.stop", agentId: root, mark: { at: START, reason: "x" } }]);
  expect([0, 1, 2, 64, 65].map(stopped)).toEqual([root, root, root, root, undefined]);
  await world.done([{ op: "agent.stop", agentId: idOf(nameOf(3)), mark: { at: START, reason: "x" } }]);
  // The nearest one is named.
  expect([2, 3, 4, 65].map(stopped)).toEqual([root, idOf(nameOf(3)), idOf(nameOf(3)), idOf(nameOf(3))]);
  expect(stoppedBy(db, { id: A, parent: idOf("none"), stopped: null })).toBeUndefined();
});

const columnsAfterKey = (db: Database): string =>
  db
    .all<{ name: string }>("SELECT name FROM pragma_table_info('agents')")
    .slice(3)
    .map(({ name }) => name)
    .join(", ");
