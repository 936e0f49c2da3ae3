/** What only the tables show: the first rows of a new database, what a change says it touched, and what is left behind. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { idsBeginning } from "../../src/adapters/store/find-ids.ts";
import { openPostgresStore, type PostgresStore } from "../../src/adapters/store/postgres/open-store.ts";
import type { RunId } from "../../src/core/ids.ts";
import type { StoredFile } from "../../src/core/message/stored-file.ts";
import type { PersonId } from "../../src/core/people/person.ts";
import type { ApprovalId } from "../../src/core/rights/approval.ts";
import type { Op, Owner } from "../../src/core/store/change.ts";
import { childOf, idOf, keyOf, postOp, runBody, START, userBody, type World, worldOn } from "../contract/fixture.ts";
import { emptied } from "./emptied.ts";
import { withClient } from "./server.ts";
import { freshDatabase } from "./shared.ts";

const R = "r" as RunId;
const FAR = START * 2;

test("the first agent of a new database is in every list and is claimed", async () => {
  const store = await openPostgresStore({ url: await freshDatabase(), leaseClock: "changes" });
  const world = await worldOn(store);
  const id = idOf("c");
  await world.done([{ op: "agent.create", seed: world.seed("c", childOf(idOf("p"), "c")) }]);
  await world.post(id);
  const lists = await Promise.all([
    store.agents({ limit: 9 }),
    store.agentsOfKind("subagent", { limit: 9 }),
    store.busyAgents({ limit: 9 }),
    store.children(idOf("p"), { limit: 9 }),
    store.eraser?.agents({ limit: 9 }) ?? [],
  ]);
  expect(lists.map((list) => list.map((one) => one.id))).toEqual(lists.map(() => [id]));
  const claims = [{ agentId: id, epoch: 1 }];
  expect(await world.done([{ op: "agents.claim", node: world.node, limit: 9, after: idOf("none") }])).toMatchObject([
    { claims },
  ]);
  expect(await world.done([{ op: "agents.claim", node: world.node, limit: 9, own: true }])).toMatchObject([{ claims }]);
  await store.close();
});

test("a store commits at most 128 changes together by default, and leaves no connection behind", async () => {
  const url = await freshDatabase();
  const store = await openPostgresStore({ url, lanes: 1 });
  const world = await worldOn(store);
  const keys = Array.from({ length: 300 }, (_, n) => `f${n}`);
  await Promise.all(keys.map((key) => world.done([{ op: "fact.put", key, value: "1" }])));
  const most = await store.connections.use("read", async (client) => {
    const { rows } = await client.query("SELECT count(*)::int AS n FROM changes GROUP BY xid ORDER BY n DESC LIMIT 1");
    return rows[0]?.n;
  });
  expect(most).toBe(128);
  await store.close();
  const left = () =>
    withClient(url, async (client) => {
      const text = `SELECT count(*)::int AS n FROM pg_stat_activity
        WHERE datname = current_database() AND application_name LIKE 'rookery %'`;
      return (await client.query(text)).rows[0]?.n;
    });
  await expect.poll(left).toBe(0);
  expect(store.connections.closed).toBe(true);
});

test("a message is answered with a holder that lives by the clock of the database, as a batch and alone", async () => {
  const store = await openPostgresStore({ url: await freshDatabase() });
  const world = await worldOn(store);
  world.now = 1_000;
  const [here, other] = [await world.join("here", 3_600_000), await world.join("other", 3_600_000)];
  await world.done([{ op: "agent.create", seed: world.seed("a") }]);
  await world.done([{ op: "agent.claim", agentId: idOf("a"), node: other }]);
  const post = postOp({ agentId: idOf("a") }, userBody("x"), 1_000, { claimFor: here });
  const answer = { holder: { node: other } };
  expect(await world.done([post])).toMatchObject([answer]);
  expect(await world.done([post, { op: "wait.end", id: "none" }])).toMatchObject([answer, undefined]);
  await store.close();
});

describe("a change", () => {
  let store: PostgresStore;
  let world: World;
  beforeAll(async () => {
    store = await openPostgresStore({ url: await freshDatabase(), leaseClock: "changes" });
  });
  beforeEach(async () => {
    await emptied(store);
    world = await worldOn(store);
  });
  afterAll(() => store.close());

  const queried = (text: string, ...values: readonly unknown[]): Promise<readonly Record<string, unknown>[]> =>
    store.connections.use("read", async (client) => (await client.query(text, [...values])).rows);

  /** Commits ops and returns what the change says it touched, which a mirror copies. */
  async function touched(ops: readonly Op[], owner?: Owner): Promise<unknown> {
    const change = world.change(ops, owner);
    const result = await store.commit(change);
    expect(result).toMatchObject({ ok: true });
    return (await queried("SELECT touched FROM changes WHERE id = $1", change.id))[0]?.touched;
  }

  test("names files that it stored or removed, and none if it did neither", async () => {
    const file: StoredFile = {
      ...{ id: "f", sha: "0".repeat(64), name: "f", mimeType: "text/plain", size: 5, blob: "b", createdAt: START },
      ...{ behalf: { person: "ann" as PersonId }, shown: { as: "reference" } },
    };
    const put = (quota: number): Op => ({ op: "file.put", file, quota });
    const sweep = (before: number): Op => ({ op: "file.sweep", before, limit: 9 });
    await world.done([{ op: "file.stage", blobs: ["b"], until: FAR }]);
    expect(await touched([put(1)])).toEqual([]);
    expect(await touched([put(9)])).toEqual(["files"]);
    expect(await touched([put(9)])).toEqual([]);
    expect(await touched([sweep(START)])).toEqual([]);
    expect(await touched([sweep(START + 1)])).toEqual(["files"]);
  });

  test("names people if it changes conversations, an agent whose approvals it withdraws, and nothing else", async () => {
    const fact = (key: string): readonly Op[] => [
      { op: "fact.put", key, value: "1" },
      { op: "wait.end", id: "none" },
    ];
    expect(await touched(fact("conversations"))).toEqual(["people"]);
    expect(await touched(fact("other"))).toEqual([]);
    const a = await world.agent("a");
    const withdraw: Op = { op: "approval.withdraw", of: { sessionKey: keyOf("a") }, reason: "x" };
    expect(await touched([withdraw])).toEqual([]);
    await world.openRun(a, R);
    const approval = {
      ...{ id: "p" as ApprovalId, agentId: a.id, runId: R, callId: "c", tool: "exec", arguments: {}, digest: "d" },
      ...{ behalf: { person: "ann" as PersonId }, prompt: "?", askedAt: START, dueAt: FAR },
    };
    await world.done([{ op: "approval.ask", approval }], a.owner);
    expect(await touched([withdraw])).toEqual([a.id]);
  });

  test("that ends a run badly leaves no wait of its agent behind, and waits of others stay", async () => {
    const [a, b] = [await world.agent("a"), await world.agent("b")];
    await world.openRun(a, R);
    await world.openRun(b, "s");
    const wait = (id: string, from: typeof a, to: string, runId: string): Op => ({
      ...{ op: "wait.begin", id, from: from.id, to: { agentId: idOf(to) }, runId: runId as RunId },
    });
    await world.agent("c");
    await world.done([wait("1", a, "c", R), wait("2", a, "b", R), wait("3", b, "c", "s")]);
    await world.done([{ op: "run.end", runId: R, body: runBody(), outcome: "timeout" }], a.owner);
    expect(await queried("SELECT id FROM waits ORDER BY id")).toEqual([{ id: "3" }]);
  });
});

test("ids are found by their beginning, sorted, up to the limit, and nothing else of the text counts", async () => {
  const url = await freshDatabase();
  const store = await openPostgresStore({ url, leaseClock: "changes" });
  const world = await worldOn(store);
  const names = ["bob", "anna", "ann%", "an"];
  for (const name of names)
    await world.done([{ op: "agent.create", seed: { ...world.seed(name), id: name as never } }]);
  await store.close();
  const find = (text: string, limit = 9) => idsBeginning({ url }, "agents", text, limit);
  expect(await find("")).toEqual([...names].sort());
  expect(await find("an", 2)).toEqual(["an", "ann%"]);
  expect(await find("ann%")).toEqual(["ann%"]);
});
