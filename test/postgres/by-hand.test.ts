/**
 * Interleavings on two connections, step by step, which load and kill tests do not show. The statements are the store's
 * own. A transaction is held open in the middle, and the test checks that the other connection waits.
 */
import type pg from "pg";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { isBatchable } from "../../src/adapters/store/postgres/batchable.ts";
import { openPostgresStore, type PostgresStore } from "../../src/adapters/store/postgres/open-store.ts";
import type { ChangeId, RunId } from "../../src/core/ids.ts";
import type { Change, Op, Owner } from "../../src/core/store/change.ts";
import { childOf, idOf, keyOf, postOp, runBody, userBody, type World, worldOn } from "../contract/fixture.ts";
import { emptied } from "./emptied.ts";
import { apply, connection, waits } from "./interleaving.ts";
import { freshDatabase } from "./shared.ts";

let url = "";
let store: PostgresStore;
let world: World;
let one: pg.Client;
let two: pg.Client;
let n = 0;

beforeAll(async () => {
  url = await freshDatabase();
  store = await openPostgresStore({ url, leaseClock: "changes" });
  one = await connection(url);
  two = await connection(url);
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
  id: `by-hand-${n++}` as ChangeId,
  site: "by hand",
  at: world.now++,
  owner,
  ops,
});

test.each([true, false])(
  "a message posted while its agent is being released is not lost (batched: %s)",
  async (batched) => {
    const a = await world.agent("a");
    // The owner read an empty inbox. A message is written but not yet committed, and the owner now releases the agent.
    expect(await store.waiting(a.id, { limit: 1 })).toEqual([]);
    await one.query("BEGIN");
    await apply(one, [change([postOp({ agentId: a.id }, userBody("late"), 1)])], batched);
    const releasing = apply(two, [change([{ op: "agent.release" }], a.owner)], batched);
    expect(await waits(store, releasing, two)).toBe(true);
    await one.query("COMMIT");
    expect(JSON.stringify(await releasing)).toContain('"released":false');
    expect(await store.agent(a.id)).toMatchObject({ node: world.node, waiting: 1 });
  },
);

test("if the release commits first, the agent has no owner and the post claims it", async () => {
  const a = await world.agent("a");
  await one.query("BEGIN");
  await apply(one, [change([{ op: "agent.release" }], a.owner)]);
  const posting = apply(two, [change([postOp({ agentId: a.id }, userBody("x"), 1, { claimFor: world.node })])]);
  expect(await waits(store, posting, two)).toBe(true);
  await one.query("COMMIT");
  expect(JSON.stringify(await posting)).toContain(`"holder":{"node":${world.node},"epoch":2}`);
});

test("groups that post to each other's agents wait for locks without a deadlock", async () => {
  const [a, b] = [await world.agent("a"), await world.agent("b")];
  const step = (held: typeof a, to: typeof a): Change =>
    change(
      [{ op: "session.begin", sessionId: "s" as never }, postOp({ agentId: to.id }, userBody("x"), 1)],
      held.owner,
    );
  for (const batched of [true, false]) {
    await one.query("BEGIN");
    await apply(one, [step(a, b)], batched);
    const other = apply(two, [step(b, a)], batched);
    expect(await waits(store, other, two)).toBe(true);
    // If the second group had locked its own agent first, this would be a deadlock.
    await apply(one, [step(a, b)], batched);
    await one.query("COMMIT");
    await other;
  }
});

test("locks taken in different orders do cause that deadlock", async () => {
  const [a, b] = [await world.agent("a"), await world.agent("b")];
  await one.query("BEGIN");
  await two.query("BEGIN");
  await one.query("SELECT 1 FROM agents WHERE id = $1 FOR UPDATE", [b.id]);
  await two.query("SELECT 1 FROM agents WHERE id = $1 FOR UPDATE", [a.id]);
  const results = await Promise.allSettled([
    one.query("SELECT 1 FROM agents WHERE id = $1 FOR UPDATE", [a.id]),
    two.query("SELECT 1 FROM agents WHERE id = $1 FOR UPDATE", [b.id]),
  ]);
  expect(results.filter(({ status }) => status === "rejected")).toHaveLength(1);
  await one.query("ROLLBACK");
  await two.query("ROLLBACK");
});

test("a sequence is drawn under the agent's lock, so that none commits before an earlier one", async () => {
  const a = await world.agent("a");
  await one.query("BEGIN");
  await apply(one, [change([postOp({ agentId: a.id }, userBody("first"), 1)])]);
  const second = apply(two, [change([postOp({ agentId: a.id }, userBody("second"), 1)])]);
  expect(await waits(store, second, two)).toBe(true);
  // A read now returns neither, so a cursor cannot skip the first one.
  expect(await store.waiting(a.id, { limit: 9 })).toEqual([]);
  await one.query("ROLLBACK");
  await second;
  const waiting = await store.waiting(a.id, { limit: 9 });
  expect(waiting.map(({ seq, body }) => [seq, body])).toEqual([[1, userBody("second")]]);
});

test("two first messages on two nodes create one agent", async () => {
  const post = (name: string): Change =>
    change([
      postOp(
        { sessionKey: keyOf("shared"), create: { ...world.seed(name), sessionKey: keyOf("shared") } },
        userBody(name),
        1,
      ),
    ]);
  await one.query("BEGIN");
  await apply(one, [post("first")]);
  const second = apply(two, [post("second")]);
  expect(await waits(store, second, two)).toBe(true);
  await one.query("COMMIT");
  expect(await second).toMatchObject([{ ok: { 0: { agentId: idOf("first"), seq: 2, created: false } } }]);
  expect(await store.agent(idOf("second"))).toBeUndefined();
});

test("of two concurrent redeliveries only one is accepted", async () => {
  const a = await world.agent("a");
  const post = (): Change =>
    change([postOp({ agentId: a.id }, userBody("x"), 1, { dedupe: { key: "same", keepUntil: 9e15 } })]);
  await one.query("BEGIN");
  await apply(one, [post()]);
  const second = apply(two, [post()], false);
  expect(await waits(store, second, two)).toBe(true);
  await one.query("COMMIT");
  expect(await second).toMatchObject([{ ok: { 0: { seq: 1, duplicate: true } } }]);
});

test.each([true, false])(
  "no run starts below a stop that is being committed, on any node (batched: %s)",
  async (batched) => {
    const root = await world.agent("root");
    const child = await world.agent("child", childOf(root.id, "child"));
    const start = (id: string): Change =>
      change([{ op: "run.open", runId: id as RunId, body: runBody() }], child.owner);
    // The start came first: the stop waits for it.
    await one.query("BEGIN");
    await apply(one, [start("before")], batched);
    const stopping = apply(
      two,
      [change([{ op: "agent.stop", agentId: root.id, mark: { at: 1, reason: "x" } }])],
      false,
    );
    expect(await waits(store, stopping, two)).toBe(true);
    await one.query("ROLLBACK");
    await stopping;
    // A start after a stop waits for the stop, and is refused.
    await store.commit(change([{ op: "agent.stop", agentId: root.id, mark: null }]));
    await one.query("BEGIN");
    await apply(one, [change([{ op: "agent.stop", agentId: root.id, mark: { at: 1, reason: "x" } }])], false);
    const starting = apply(two, [start("after")], batched);
    expect(await waits(store, starting, two)).toBe(true);
    await one.query("COMMIT");
    if (batched) await expect(starting).rejects.toMatchObject({ code: "RKSLW" });
    else expect(await starting).toMatchObject([{ refused: "stopped" }]);
    expect(await store.run("after" as RunId)).toBeUndefined();
  },
);

test("a bulk claim skips agents that another transaction has locked", async () => {
  const names = ["a", "b", "c"];
  for (const name of names) {
    await world.done([{ op: "agent.create", seed: world.seed(name) }]);
    await world.post(idOf(name));
  }
  await one.query("BEGIN");
  await apply(one, [change([postOp({ agentId: idOf("b") }, userBody("x"), 1)])]);
  const claimed = await apply(two, [change([{ op: "agents.claim", node: world.node, limit: 10 }])], false);
  expect(claimed).toMatchObject([{ ok: { 0: { claims: [{ agentId: idOf("a") }, { agentId: idOf("c") }] } } }]);
  await one.query("COMMIT");
});

test("the reads of one turn do not grow with the waiting messages, open runs and deliveries of other agents", async () => {
  const [a, b] = [await world.agent("a"), await world.agent("b")];
  const client = await store.connections.own();
  try {
    await client.query(
      "INSERT INTO messages (agent, seq, state, urgent, is_reset, accepted_at, message) SELECT $1, n, 'waiting', false, false, 0, '{}' FROM generate_series(100, 4000) n",
      [b.id],
    );
    await client.query(
      "INSERT INTO runs (id, agent, session_id, started_at, body) SELECT 'other' || n, $1, '', 0, '{}' FROM generate_series(1, 2000) n",
      [b.id],
    );
    const runId = "r" as RunId;
    const inRun = { ...a.owner, run: { id: runId, step: 1 } };
    const leaf = "e" as never;
    await client.query("BEGIN");
    await apply(client, [change([postOp({ agentId: a.id }, userBody("x"), 1)])], true);
    const begin: Op[] = [
      { op: "message.take", runId, seqs: [1] },
      { op: "run.open", runId, body: runBody([1]) },
    ];
    await apply(client, [change(begin, a.owner)], true);
    await apply(client, [change([{ op: "run.step", runId, body: runBody([1]) }], inRun)], true);
    const settlements = [{ seq: 1, from: "taken", state: "answered", runId }] as const;
    const end: Op[] = [
      { op: "message.settle", settlements },
      { op: "run.end", runId, body: runBody([1]), outcome: "ok" },
      { op: "agent.release" },
      { op: "entries.append", position: 2, lines: ["{}"], leaf },
    ];
    const ending = change(end, { ...inRun, run: { id: runId, step: 2 } });
    expect(isBatchable(ending)).toBe(true);
    expect(JSON.stringify(await apply(client, [ending], true))).toContain('"released":true');
    const read = await client.query(
      "SELECT sum(idx_tup_fetch + seq_tup_read)::int AS rows FROM pg_stat_xact_user_tables WHERE relname ~ '^(messages|runs|agents|deliveries)_'",
    );
    await client.query("COMMIT");
    expect(read.rows[0]?.rows).toBeLessThan(60);
  } finally {
    await client.end();
  }
  expect(await store.agent(a.id)).toMatchObject({ waiting: 0 });
  expect((await store.agent(a.id))?.node).toBeUndefined();
});
