/** The rules of a store that `checkStore` tries, by their titles. A check throws if the store breaks its rule. */
import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { freshState } from "../../core/agent/fresh-state.ts";
import type { ChangeId, EntryId, RunId } from "../../core/ids.ts";
import type { CommitResult, Op, Posted } from "../../core/store/change.ts";
import {
  childOf,
  idOf,
  keyOf,
  LEASE_MS,
  postedIn,
  postOp,
  runBody,
  START,
  sessionOf,
  userBody,
  type World,
} from "./store-world.ts";

/** `reopen`: closes the store of the world and opens its data again, if data outlives it. */
type Check = (world: World, reopen?: () => Promise<void>) => Promise<void>;

const MANY = 40;
const fact = (key: string, value = "1"): Op => ({ op: "fact.put", key, value });
/** Without fields that are undefined. */
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));
const upTo = (n: number): number[] => Array.from({ length: n }, (_, i) => i + 1);
const run = (id: string): RunId => id as RunId;
const firstPost = async (world: World, name: string, dedupe?: string): Promise<Posted> => {
  const rest = dedupe === undefined ? {} : { dedupe: { key: dedupe, keepUntil: START * 2 } };
  const create = { ...world.seed(name), sessionKey: keyOf("shared") };
  return postedIn(await world.done([postOp({ sessionKey: keyOf("shared"), create }, userBody(name), world.now, rest)]));
};

export const STORE_RULES: Readonly<Record<string, Check>> = {
  "a refused change leaves nothing behind": async (world) => {
    const a = await world.agent("a");
    await world.post(a.id);
    const before = await world.store.agent(a.id);
    const ops: Op[] = [
      fact("f"),
      { op: "run.open", runId: run("r"), body: runBody([1]) },
      { op: "message.take", runId: run("r"), seqs: [1] },
      { op: "entries.append", position: 2, lines: ["{}"], leaf: "x" as EntryId },
      { op: "state.put", state: { ...freshState(1), label: "new" } },
      { op: "message.settle", settlements: [{ seq: 99, from: "taken", state: "answered" }] },
    ];
    strictEqual(await world.refused(ops, a.owner), "conflict");
    deepStrictEqual(await world.store.agent(a.id), before);
    strictEqual(await world.store.run(run("r")), undefined);
    strictEqual(await world.store.fact("f"), undefined);
    strictEqual((await world.store.message(a.id, 1))?.state, "waiting");
  },
  "changes that are committed together stand alone": async (world) => {
    const a = await world.agent("a");
    const commits: Promise<CommitResult>[] = upTo(MANY).flatMap((i) => [
      world.commit([fact(`good-${i}`), postOp({ agentId: a.id }, userBody(`${i}`), i)]),
      world.commit([fact(`bad-${i}`), postOp({ agentId: idOf("unknown") }, userBody("lost"), i)]),
    ]);
    const results = await Promise.all(commits);
    for (const i of upTo(MANY)) {
      deepStrictEqual([results[2 * i - 2]?.ok, results[2 * i - 1]?.ok], [true, false]);
      deepStrictEqual([await world.store.fact(`good-${i}`), await world.store.fact(`bad-${i}`)], ["1", undefined]);
    }
  },
  "messages of one agent are numbered without gaps, in the order of their commits": async (world) => {
    const a = await world.agent("a");
    const posted = await Promise.all(upTo(MANY).map((i) => world.post(a.id, userBody(`${i}`))));
    deepStrictEqual(
      posted.map(({ seq }) => seq),
      upTo(MANY),
    );
    const waiting = await world.store.waiting(a.id, { limit: 100 });
    deepStrictEqual(
      waiting.map(({ seq, body }) => [seq, body]),
      upTo(MANY).map((i) => [i, userBody(`${i}`)]),
    );
  },
  "first messages to one address at once make one agent": async (world) => {
    const posted = await Promise.all(upTo(MANY).map((i) => firstPost(world, `n${i}`)));
    strictEqual(new Set(posted.map(({ agentId }) => agentId)).size, 1);
    strictEqual(posted.filter(({ created }) => created).length, 1);
  },
  "a message that was seen before is not stored twice": async (world, reopen) => {
    const first = await firstPost(world, "a", "m1");
    await reopen?.();
    const again = await firstPost(world, "b", "m1");
    deepStrictEqual([first.seq, first.duplicate, again.seq, again.duplicate], [1, false, 1, true]);
    strictEqual((await world.store.waiting(first.agentId, { limit: 9 })).length, 1);
  },
  "the outcome of a change can be looked up, also later": async (world, reopen) => {
    const change = world.change([
      fact("f"),
      postOp({ sessionKey: keyOf("a"), create: world.seed("a") }, userBody("x"), 1),
    ]);
    const result = await world.store.commit(change);
    await reopen?.();
    deepStrictEqual(plain(await world.store.outcome(change.id)), plain(result));
    const refused = world.change([postOp({ agentId: idOf("unknown") }, userBody("x"), 1)]);
    strictEqual((await world.store.commit(refused)).ok, false);
    strictEqual(await world.store.outcome(refused.id), undefined);
    strictEqual(await world.store.outcome("never" as ChangeId), undefined);
  },
  "reads see every commit that has resolved": async (world, reopen) => {
    const a = await world.agent("a");
    await Promise.all(
      upTo(MANY).map(async (i) => {
        const { seq } = await world.post(a.id, userBody(`${i}`));
        strictEqual((await world.store.message(a.id, seq))?.state, "waiting");
      }),
    );
    await reopen?.();
    strictEqual((await world.store.waiting(a.id, { limit: 100 })).length, MANY);
  },
  "only the owner of an agent changes it": async (world) => {
    const a = await world.agent("a");
    const move: Op[] = [{ op: "leaf.move", leaf: "x" as EntryId }];
    strictEqual(await world.refused(move, { ...a.owner, node: a.owner.node + 1 }), "fenced");
    strictEqual(await world.refused(move, { ...a.owner, epoch: a.owner.epoch - 1 }), "fenced");
    strictEqual(await world.refused(move), "fenced");
    await world.done(move, a.owner);
  },
  "an agent of a live node has no second owner, and one of a dead node has": async (world) => {
    const a = await world.agent("a");
    const other = await world.join("other", world.now + 1_000 * LEASE_MS);
    const claim = async () => {
      const [claimed] = await world.done([{ op: "agent.claim", agentId: a.id, node: other }]);
      return claimed?.op === "agent.claim" ? claimed.epoch : undefined;
    };
    strictEqual(await claim(), undefined);
    await world.done([{ op: "node.leave", node: world.node }]);
    const epoch = await claim();
    strictEqual(epoch !== undefined && epoch > a.owner.epoch, true);
    strictEqual(await world.refused([fact("f")], a.owner), "fenced");
  },
  "an agent is not released while a message waits": async (world) => {
    const a = await world.agent("a");
    await world.post(a.id);
    const [kept] = await world.done([{ op: "agent.release" }], a.owner);
    deepStrictEqual(kept?.op === "agent.release" && kept.released, false);
  },
  "an agent has at most one open run, and a change of another step is refused": async (world) => {
    const a = await world.agent("a");
    await world.post(a.id);
    const id = await world.openRun(a, "r1", [1]);
    strictEqual((await world.commit([{ op: "run.open", runId: run("r2"), body: runBody() }], a.owner)).ok, false);
    const at = (step: number) => ({ ...a.owner, run: { id, step } });
    await world.done([{ op: "run.step", runId: id, body: runBody([1]) }], at(1));
    strictEqual(await world.refused([{ op: "run.step", runId: id, body: runBody([1]) }], at(1)), "run");
  },
  "an abort mark refuses the next step of its run": async (world) => {
    const a = await world.agent("a");
    await world.post(a.id);
    const id = await world.openRun(a, "r", [1]);
    await world.done([{ op: "run.abort", runId: id, mark: { reason: "person", at: 1 } }]);
    const step: Op = { op: "run.step", runId: id, body: runBody([1]) };
    strictEqual(await world.refused([step], { ...a.owner, run: { id, step: 1 } }), "aborted");
  },
  "a stop covers descendants": async (world) => {
    const parent = await world.agent("parent");
    const child = await world.agent("child", childOf(parent.id, "child"));
    await world.done([{ op: "agent.stop", agentId: parent.id, mark: { reason: "person", at: 1 } }]);
    const opened = await world.commit([{ op: "run.open", runId: run("r"), body: runBody() }], child.owner);
    deepStrictEqual(!opened.ok && opened.refused, "stopped");
  },
  "a change of an earlier session is refused": async (world) => {
    const a = await world.agent("a");
    await world.done([{ op: "session.begin", sessionId: sessionOf(2) }], a.owner);
    strictEqual(await world.refused([fact("f")], { ...a.owner, sessionId: sessionOf(1) }), "session");
  },
  "entries are appended only at the agent's next position": async (world, reopen) => {
    const a = await world.agent("a");
    const append = (position: number, line: string): Op[] => [
      { op: "entries.append", position, lines: [line], leaf: "x" as EntryId },
    ];
    strictEqual((await world.commit(append(5, "{}"), a.owner)).ok, false);
    await world.done(append(2, '{"n":1}'), a.owner);
    strictEqual((await world.commit(append(2, '{"n":2}'), a.owner)).ok, false);
    await reopen?.();
    strictEqual((await world.store.linesBack(a.id, { limit: 1 }))[0]?.line, '{"n":1}');
  },
};
