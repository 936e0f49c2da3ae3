/** A store behind a bad connection: lost answers, servers that are down, poolers that share connections. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openPostgresStore, type PostgresStore } from "../../src/adapters/store/postgres/open-store.ts";
import {
  CommitUnknownError,
  StoreNewerError,
  StoreUnavailableError,
  StoreUnsuitableError,
} from "../../src/core/errors.ts";
import type { ChangeId } from "../../src/core/ids.ts";
import { idOf, postOp, userBody, worldOn } from "../contract/fixture.ts";
import { startProxy, type WireProxy } from "./proxy.ts";
import { withClient } from "./server.ts";
import { freshDatabase } from "./shared.ts";
import { startTransactionPooler } from "./transaction-pooler.ts";

let url = "";
let proxy: WireProxy;
beforeAll(async () => {
  url = await freshDatabase();
  const { hostname, port } = new URL(url);
  proxy = await startProxy({ host: hostname, port: Number(port) });
});
afterAll(() => proxy.close());

const open = (at = url, rest: object = {}): Promise<PostgresStore> =>
  openPostgresStore({ url: at, leaseClock: "changes", ...rest });

describe("a commit whose answer is lost", () => {
  test("is looked up by its id, answered with its result, and not applied twice", async () => {
    const store = await open(proxy.through(url));
    const world = await worldOn(store);
    const a = await world.agent("applied");
    // The server has committed and answers; the connection breaks before the answer arrives.
    proxy.cutAtAnswer('"message.post"');
    const posted = await world.post(a.id, userBody("once"));
    expect(posted).toMatchObject({ agentId: a.id, seq: 1 });
    expect(await store.waiting(a.id, { limit: 9 })).toHaveLength(1);
    // In a group, each change gets its own answer.
    proxy.cutAtAnswer('"message.post"');
    const many = await Promise.all(Array.from({ length: 20 }, (_, i) => world.post(a.id, userBody(`${i}`))));
    expect(many.map(({ seq }) => seq)).toEqual(Array.from({ length: 20 }, (_, i) => i + 2));
    expect(await store.agent(a.id)).toMatchObject({ nextSeq: 22, waiting: 21 });
    await store.close();
  });

  test("is unknown while the database is down, and looked up later", async () => {
    const store = await open(proxy.through(url), { settleMs: 300 });
    const world = await worldOn(store);
    const a = await world.agent("unknown");
    const change = world.change([postOp({ agentId: a.id }, userBody("x"), 1)]);
    proxy.cutAtAnswer('"message.post"');
    proxy.refusing = true;
    await expect(store.commit(change)).rejects.toThrow(CommitUnknownError);
    await expect(store.outcome(change.id)).rejects.toThrow(StoreUnavailableError);
    proxy.refusing = false;
    expect(await store.outcome(change.id)).toMatchObject({ ok: true, results: [{ seq: 1 }] });
    await store.close();
  });

  test("is refused when it is submitted again, because its id was used", async () => {
    const store = await open();
    const change = {
      id: "used" as ChangeId,
      site: "t",
      at: 1,
      ops: [{ op: "fact.put", key: "k", value: "1" }],
    } as const;
    expect(await store.commit(change)).toMatchObject({ ok: true });
    expect(await store.commit(change)).toMatchObject({ ok: false, refused: "conflict" });
    await store.close();
  });
});

describe("a database that is down", () => {
  test("refuses changes with a clear error, stores none of them, and works again when it is back", async () => {
    const store = await open(proxy.through(url), { settleMs: 300 });
    const world = await worldOn(store);
    const a = await world.agent("away");
    proxy.refusing = true;
    proxy.cut();
    await expect(world.post(a.id)).rejects.toThrow(/cannot be used now|broke during a commit/);
    await expect(store.agent(a.id)).rejects.toThrow(StoreUnavailableError);
    await expect(open(proxy.through(url), { settleMs: 300 })).rejects.toThrow(StoreUnavailableError);
    proxy.refusing = false;
    expect(await world.post(a.id)).toMatchObject({ seq: 1 });
    await store.close();
  });

  test("has its broken idle connections replaced without an error", async () => {
    const store = await open(proxy.through(url));
    const world = await worldOn(store);
    const a = await world.agent("idle");
    proxy.cut();
    expect(await store.agent(a.id)).toMatchObject({ id: a.id });
    proxy.cut();
    expect(await world.post(a.id)).toMatchObject({ seq: 1 });
    await store.close();
  });
});

describe("nodes", () => {
  test("agents of a node that lost its connection can be claimed, agents of a connected node cannot", async () => {
    const [dying, living] = [await open(proxy.through(url)), await open()];
    const [first, second] = [await worldOn(dying), await worldOn(living)];
    const a = await first.agent("orphan");
    await first.post(a.id);
    const claim = async () => {
      const [claimed] = await second.done([{ op: "agents.claim", node: second.node, limit: 10 }]);
      return claimed?.op === "agents.claim" ? claimed.claims.map(({ agentId }) => agentId) : [];
    };
    expect(await claim()).not.toContain(a.id);
    // As after a kill: the connections end without a goodbye.
    proxy.refusing = true;
    proxy.cut();
    await expect.poll(claim, { interval: 20 }).toContain(a.id);
    proxy.refusing = false;
    expect(await dying.commit(first.change([{ op: "agent.release" }], a.owner))).toMatchObject({ refused: "fenced" });
    await dying.close();
    await living.close();
  });

  test("a post to an agent of another node sends that node a hint; a post to an own agent does not", async () => {
    const [here, there] = [await open(), await open()];
    const [poster, holder] = [await worldOn(here), await worldOn(there)];
    const [theirs, ours] = [await holder.agent("theirs"), await poster.agent("ours")];
    const heard: string[] = [];
    const stop = there.onHint((agentId) => heard.push(agentId));
    await poster.post(ours.id);
    await poster.post(theirs.id);
    await expect.poll(() => heard).toEqual([theirs.id]);
    stop();
    const aborted = await holder.openRun(theirs, "hinted-run");
    there.onHint((agentId) => heard.push(`run of ${agentId}`));
    await poster.done([{ op: "run.abort", runId: aborted, mark: { reason: "person", at: 1 } }]);
    await expect.poll(() => heard).toContain(`run of ${theirs.id}`);
    await here.close();
    await there.close();
  });
});

describe("unsupported databases", () => {
  test("a pooler in transaction mode is refused with an instruction", async () => {
    const pooler = await startTransactionPooler(url);
    try {
      const refused = open(pooler.url);
      await expect(refused).rejects.toThrow(StoreUnsuitableError);
      await expect(refused).rejects.toMatchObject({ hint: expect.stringContaining("session") });
    } finally {
      await pooler.close();
    }
  });

  test("a schema of a newer program is refused and stays unchanged", async () => {
    const schema = "newer";
    await (await open(url, { schema })).close();
    await withClient(url, (client) =>
      client.query(`UPDATE ${schema}.meta SET value = '999' WHERE key = 'schema_version'`),
    );
    await expect(open(url, { schema })).rejects.toThrow(StoreNewerError);
  });

  test("several nodes that start together on an empty database create its tables once", async () => {
    const stores = await Promise.all(Array.from({ length: 4 }, () => open(url, { schema: "at_once" })));
    await Promise.all(stores.map((store) => store.close()));
  });
});

test("text that PostgreSQL refuses is stored: unchanged in messages, with replacement characters in facts", async () => {
  const store = await open();
  const world = await worldOn(store);
  const a = await world.agent("odd");
  const text = "zero \0 half \ud800 whole \u{1f426}";
  await world.post(a.id, userBody(text));
  expect((await store.waiting(a.id, { limit: 1 }))[0]?.body).toEqual(userBody(text));
  await world.done([{ op: "fact.put", key: "k\0", value: text }]);
  expect(await store.fact("k\0")).toBe("zero \uFFFD half \uFFFD whole \u{1f426}");
  expect(await store.agent(idOf("\0nobody"))).toBeUndefined();
  await store.close();
});
