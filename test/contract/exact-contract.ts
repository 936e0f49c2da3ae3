/** Limits to the last token, erasures to the row, and what is refused because it does not exist. */
import { expect } from "vitest";
import type { Limit } from "../../src/core/budget/budget.ts";
import type { CallCost } from "../../src/core/budget/budget-decision.ts";
import type { ChangeId, EntryId, RunId } from "../../src/core/ids.ts";
import type { StoredFile } from "../../src/core/message/stored-file.ts";
import type { PersonId } from "../../src/core/people/person.ts";
import type { Op } from "../../src/core/store/change.ts";
import { idOf, type Opener, postedIn, postOp, START, storeTest, userBody } from "./fixture.ts";

const FAR = START * 2;
const END = START + 1_000;
const R = "r" as RunId;
const CALL: CallCost = { prompt: 10, maxTokens: 90, leastTokens: 20, read: 1, write: 2 };

interface Row {
  readonly key: string;
  readonly limit: Limit;
  readonly adds?: number;
}
const reserve = (id: string, rows: readonly Row[], call = CALL): Op => ({
  ...{ op: "budget.reserve", id, runId: R, call, rows },
});

function budgets(open: Opener): void {
  const cases: readonly (readonly [string, Limit, CallCost, object])[] = [
    ["the whole cost in micros fits", { micros: 190 }, CALL, { kind: "go", maxTokens: 90 }],
    ["one micro less is a shorter answer", { micros: 189 }, CALL, { kind: "go", maxTokens: 89 }],
    ["the least cost in micros fits", { micros: 50 }, CALL, { kind: "go", maxTokens: 20 }],
    ["less than the least cost in micros", { micros: 49 }, CALL, { kind: "reached", needed: { micros: 50 } }],
    ["all tokens fit", { tokens: 100 }, CALL, { kind: "go", maxTokens: 90 }],
    ["the least tokens fit", { tokens: 30 }, CALL, { kind: "go", maxTokens: 20 }],
    ["less than the least tokens", { tokens: 29 }, CALL, { kind: "reached", needed: { tokens: 30 } }],
    ["answers are free and the prompt fits", { micros: 10 }, { ...CALL, write: 0 }, { kind: "go", maxTokens: 90 }],
    ["answers are free and the prompt does not fit", { micros: 9 }, { ...CALL, write: 0 }, { kind: "reached" }],
    ["a token costs one micro", { micros: 60 }, { ...CALL, write: 1 }, { kind: "go", maxTokens: 50 }],
    ["nothing costs anything", { micros: 0 }, { ...CALL, read: 0, write: 0 }, { kind: "go", maxTokens: 90 }],
    // 170 tokens cost 187 micros and a little, because 1.1 has no exact form.
    [
      "a cost that is not exact",
      { micros: 187 },
      { ...CALL, prompt: 0, maxTokens: 900, write: 1.1 },
      { maxTokens: 169 },
    ],
  ];
  storeTest("a call gets exactly what its limit leaves, and one micro or token less is less", open, async (world) => {
    const a = await world.agent("a");
    for (const [title, limit, call, expected] of cases) {
      const [said] = await world.done([reserve(title, [{ key: `tree:${title}`, limit }], call)], a.owner);
      expect(said, title).toMatchObject({ decision: expected });
    }
  });

  storeTest("beside another call one that exactly fits goes, and one that does not waits", open, async (world) => {
    const a = await world.agent("a");
    const whole = { ...CALL, leastTokens: 90 };
    for (const [limit, kind] of [
      [{ tokens: 200 }, "go"],
      [{ tokens: 199 }, "wait"],
      [{ micros: 380 }, "go"],
      [{ micros: 379 }, "wait"],
    ] as const) {
      const rows = [{ key: `tree:${JSON.stringify(limit)}`, limit }];
      const [, said] = await world.done(
        [reserve(`${rows[0]?.key} 1`, rows, whole), reserve(`${rows[0]?.key} 2`, rows, whole)],
        a.owner,
      );
      expect(said, JSON.stringify(limit)).toMatchObject({ decision: { kind } });
    }
  });

  storeTest(
    "of several limits the first that is reached is named, and only its agent was told",
    open,
    async (world) => {
      const [a, b] = [await world.agent("a"), await world.agent("b")];
      const none = (key: string): Row => ({ key, limit: { tokens: 0 } });
      const messages: Row = { key: "messages:x", limit: {}, adds: 1 };
      const named = async (rows: readonly Row[]) =>
        (await world.done([reserve("1", [{ key: "free", limit: {} }, ...rows])], a.owner))[0];
      expect(await named([none("z"), none("a")])).toMatchObject({
        decision: { kind: "reached", key: "z" },
        told: false,
      });
      await world.done(
        [
          { op: "budget.told", key: "z" },
          { op: "budget.told", key: "messages:x" },
        ],
        b.owner,
      );
      await world.done([{ op: "budget.told", key: "a" }], a.owner);
      expect(await named([none("z"), none("a")])).toMatchObject({ told: false });
      expect(await named([none("a"), none("z")])).toMatchObject({ decision: { key: "a" }, told: true });
      // Messages without a limit that says how many may not be sent at all.
      expect(await named([messages])).toMatchObject({ decision: { kind: "reached", key: "messages:x" }, told: false });
    },
  );
}

function files(open: Opener): void {
  const file = (id: string, rest: Partial<StoredFile> = {}): StoredFile => ({
    ...{
      id,
      sha: id.padStart(64, "0"),
      name: id,
      mimeType: "text/plain",
      size: 5,
      blob: `blob-${id}`,
      createdAt: START,
    },
    ...{ behalf: { person: "ann" as PersonId }, shown: { as: "reference" } },
    ...rest,
  });
  const stage = (blob: string): Op => ({ op: "file.stage", blobs: [blob], until: FAR });

  storeTest("a person's files may fill the quota exactly", open, async (world) => {
    const put = (id: string, quota: number): Op[] => [stage(`blob-${id}`), { op: "file.put", file: file(id), quota }];
    expect((await world.done(put("a", 4)))[1]).toMatchObject({ status: "full", used: 0 });
    expect((await world.done(put("b", 5)))[1]).toMatchObject({ status: "stored", used: 5 });
    expect((await world.done(put("c", 9)))[1]).toMatchObject({ status: "full", used: 5 });
    expect((await world.done(put("d", 10)))[1]).toMatchObject({ status: "stored", used: 10 });
    expect(await world.store.fileBytes("ann")).toBe(10);
  });
}

function erasures(open: Opener): void {
  storeTest("erasing an agent leaves the requests and subagents of others as they are", open, async (world) => {
    const [a, b] = [await world.agent("a"), await world.agent("b")];
    const keyed = (key: string) => ({ by: "key", key, digest: "d", keepUntil: FAR }) as const;
    for (const [{ id }, name] of [[a, "a"] as const, [b, "b"] as const]) {
      await world.done([postOp({ agentId: id }, userBody("x"), START, { request: keyed(name) })]);
      await world.done([postOp({ agentId: id }, userBody("x"), START, { request: keyed(`${name} open`) })]);
      await world.done([{ op: "request.put", request: keyed(name), reply: `"secret of ${name}"` }]);
      const record = {
        ...{ runId: name, childSessionKey: `child-${name}`, requesterSessionKey: name, task: "work" },
        ...{ createdAt: START, cleanup: "keep" as const, about: id },
      };
      await world.done([{ op: "subagent.put", record: record as never }]);
    }
    await world.done([{ op: "agent.erase", agentId: a.id, tombstone: "gone" }]);
    expect((await world.store.request("a"))?.reply).not.toContain("secret");
    expect((await world.store.request("a open"))?.reply).toBeUndefined();
    expect(await world.store.request("b")).toMatchObject({ reply: '"secret of b"' });
    expect((await world.store.request("b open"))?.reply).toBeUndefined();
    expect(await world.store.subagentRun("a")).toBeUndefined();
    expect(await world.store.subagentRun("b")).toBeDefined();
  });

  storeTest("a message is recognised after its agent was erased twice", open, async (world) => {
    const [a, b] = [await world.agent("a"), await world.agent("b")];
    const dedupe = { key: "k", keepUntil: FAR };
    const post = (to: typeof a) => world.done([postOp({ agentId: to.id }, userBody("x"), START, { dedupe })]);
    await post(a);
    for (let n = 0; n < 2; n++) await world.done([{ op: "agent.erase", agentId: a.id, tombstone: "gone" }]);
    expect(postedIn(await post(b))).toMatchObject({ duplicate: true, agentId: a.id });
  });

  storeTest("erasing a person erases replies that are only its name, and no result of others", open, async (world) => {
    const a = await world.agent("a");
    const keyed = (key: string) => ({ by: "key", key, digest: "d", keepUntil: FAR }) as const;
    await world.done([
      { op: "request.put", request: keyed("1"), reply: '"ann"' },
      { op: "request.put", request: keyed("2"), reply: '"anna"' },
    ]);
    const change = world.change([postOp({ agentId: a.id }, userBody("x"), START)]);
    await world.store.commit(change);
    const before = await world.store.outcome(change.id as ChangeId);
    const erase: Op = {
      ...{ op: "person.erase", people: ["ann"], jobs: [], budgets: [], tombstone: "gone" },
    };
    await world.done([erase]);
    expect((await world.store.request("1"))?.reply).not.toContain("ann");
    expect((await world.store.request("2"))?.reply).toBe('"anna"');
    expect(before).toMatchObject({ ok: true, results: [{ op: "message.post", seq: 1 }] });
    expect(await world.store.outcome(change.id as ChangeId)).toEqual(before);
  });
}

function refusals(open: Opener): void {
  storeTest("what names an agent that does not exist is refused as missing", open, async (world) => {
    const agentId = idOf("none");
    const ops: readonly Op[] = [
      { op: "agent.erase", agentId, tombstone: "gone" },
      { op: "agent.remove", agentId, reason: "x" },
      { op: "agent.stop", agentId, mark: { at: START, reason: "x" } },
      { op: "agent.claim", agentId, node: world.node },
      { op: "message.drop", agentId, seq: 1, reason: "x" },
      { op: "file.hold", files: [], by: { agentId } },
      { op: "run.abort", runId: R, mark: { reason: "person", at: START } },
      postOp({ agentId }, userBody("x"), START),
    ];
    for (const op of ops) expect(await world.refused([op]), op.op).toBe("missing");
  });

  storeTest("a job that does not exist has the version 0", open, async (world) => {
    await world.done([{ op: "job.remove", id: "none", expect: 0 }]);
    expect(await world.refused([{ op: "job.remove", id: "none", expect: 1 }])).toBe("conflict");
  });

  storeTest("a take is not refused for a reset that its owner has seen, also if more came", open, async (world) => {
    const a = await world.agent("a");
    await world.post(a.id);
    await world.post(a.id, { kind: "reset", by: "person" });
    await world.post(a.id);
    await world.openRun(a, R);
    const take = (unlessResetAfter: number): Op => ({ op: "message.take", runId: R, seqs: [1], unlessResetAfter });
    expect(await world.refused([take(1)], a.owner)).toBe("conflict");
    await world.done([take(2)], a.owner);
  });

  storeTest(
    "a message that an owner's change posts to its own agent is kept beside its other ops",
    open,
    async (world) => {
      const a = await world.agent("a");
      const leaf = "l" as EntryId;
      const append = (position: number): Op => ({ op: "entries.append", position, lines: ["{}"], leaf });
      const NOTHING: Op = { op: "wait.end", id: "none" };
      const post = postOp({ agentId: a.id }, userBody("x"), START);
      await world.done([append(2), post, append(3), post, NOTHING, append(4)], a.owner);
      expect(await world.store.agent(a.id)).toMatchObject({ nextPos: 5, waiting: 2, nextSeq: 3, leaf });
      expect((await world.store.waiting(a.id, { limit: 9 })).map(({ seq }) => seq)).toEqual([1, 2]);
      expect((await world.store.busyAgents({ limit: 9 })).map(({ id }) => id)).toEqual([a.id]);
    },
  );

  storeTest("a reply at the moment its request is forgotten makes a new row", open, async (world) => {
    const a = await world.agent("a");
    const keyed = (keepUntil: number) => ({ by: "key", key: "k", digest: "d", keepUntil }) as const;
    await world.done([postOp({ agentId: a.id }, userBody("x"), START, { request: keyed(END) })]);
    world.now = END;
    await world.done([{ op: "request.put", request: keyed(FAR), reply: "late" }]);
    const row = await world.store.request("k");
    expect(row).toMatchObject({ reply: "late", keepUntil: FAR });
    expect(row?.message).toBeUndefined();
  });
}

export function exactContract(open: Opener): void {
  budgets(open);
  files(open);
  erasures(open);
  refusals(open);
}
