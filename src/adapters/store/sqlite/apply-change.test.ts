/** What a refusal says, and what of a change's results is kept for a caller that lost its answer. */
import { afterEach, beforeEach, expect, test } from "vitest";
import {
  type Held,
  idOf,
  keyOf,
  postOp,
  runBody,
  START,
  sessionOf,
  userBody,
  type World,
} from "../../../app/testing/store-world.ts";
import type { RunId } from "../../../core/ids.ts";
import type { Op, Owner } from "../../../core/store/change.ts";
import { applyGroup, applyWithin } from "./apply-change.ts";
import type { Database } from "./database.ts";
import { memoryWorld } from "./memory-world.test-kit.ts";

const R = "r" as RunId;
const NOTHING: Op = { op: "wait.end", id: "none" };
let world: World;
let db: Database;
let a: Held;
beforeEach(async () => {
  ({ world, db } = await memoryWorld());
  a = await world.agent("a");
  await world.openRun(a, R);
});
afterEach(() => db.close());

test("a refused owner is told what is not as it assumes, and the first such thing counts", async () => {
  const session = (await world.store.agent(a.id))?.sessionId;
  const run = { id: R, step: 1 };
  const none = { ...a.owner, agentId: idOf("none") };
  const refused = async (owner: Owner, reason: string, detail: string): Promise<void> =>
    expect(await world.commit([NOTHING], owner)).toEqual({ ok: false, refused: reason, detail });
  await refused({ ...none, node: 9 }, "missing", `There is no agent ${idOf("none")}.`);
  const held = `Agent ${a.id} is held by node 1, epoch 1.`;
  await refused({ ...a.owner, node: 9, sessionId: sessionOf(9) }, "fenced", held);
  await refused({ ...a.owner, epoch: 9 }, "fenced", held);
  const other = { ...a.owner, sessionId: sessionOf(9) };
  await refused(
    { ...other, run: { id: "none" as RunId, step: 1 } },
    "session",
    `Agent ${a.id} has begun session ${session}.`,
  );
  await refused({ ...a.owner, run: { id: "none" as RunId, step: 1 } }, "missing", "There is no run none.");
  await refused({ ...a.owner, run: { ...run, step: 2 }, rights: 9 }, "run", "Run r is open at step 1.");
  await refused({ ...a.owner, run, rights: 9 }, "rights", "The rights of people are at 0, not 9.");
  await world.done([NOTHING], { ...a.owner, sessionId: session, run, rights: 0 });
  await world.done([{ op: "agent.stop", agentId: a.id, mark: { at: START, reason: "x" } }]);
  await refused({ ...a.owner, run, rights: 9 }, "stopped", `Agent ${a.id} was stopped.`);
  const mark = { reason: "person", at: START } as const;
  await world.done([{ op: "run.abort", runId: R, mark }]);
  await refused({ ...a.owner, run, rights: 9 }, "aborted", `Run r was aborted: ${JSON.stringify(mark)}`);
  await world.done([NOTHING], { ...a.owner, run: { ...run, evenAborted: true } });
  await world.done([{ op: "run.end", runId: R, body: runBody(), outcome: "ok" }], a.owner);
  await refused({ ...a.owner, run: { ...run, evenAborted: true } }, "run", "Run r is ended at step 2.");
});

test("an op that needs an owner, and one that is refused, say which change and why", async () => {
  const said = async (op: Op, owner?: Owner) => (await world.commit([op], owner)) as { detail: string };
  expect(await said({ op: "agent.release" })).toEqual({
    ...{ ok: false, refused: "fenced", detail: "The change at test names no owner." },
  });
  expect(await said({ op: "run.open", runId: R, body: runBody() }, a.owner)).toMatchObject({
    detail: `Agent ${a.id} has the open run r.`,
  });
  expect(await said({ op: "file.remove", id: "f" })).toMatchObject({
    refused: "missing",
    detail: "There is no file f.",
  });
});

test("results are kept only if there are any, each in its place", async () => {
  const kept = () => db.get<{ result: string | null }>("SELECT result FROM changes ORDER BY n DESC LIMIT 1")?.result;
  const outcome = async (ops: readonly Op[]) => {
    const change = world.change(ops);
    await world.store.commit(change);
    return world.store.outcome(change.id);
  };
  expect(await outcome([NOTHING, NOTHING])).toEqual({ ok: true, results: [] });
  expect(kept()).toBeNull();
  const post = postOp({ agentId: a.id }, userBody("x"), START);
  const answer = { op: "message.post", agentId: a.id, seq: 1, duplicate: false, created: false, alone: true };
  const posted = { ...answer, holder: { node: world.node, epoch: 1 } };
  expect(await outcome([NOTHING, post, NOTHING])).toEqual({ ok: true, results: [undefined, posted, undefined] });
  expect(JSON.parse(kept() ?? "")).toEqual([null, posted, null]);
});

test("a change of a group that is refused or impossible leaves the others in place, and each its own answer", async () => {
  const put = (key: string): Op => ({ op: "fact.put", key, value: "1" });
  // The id of an agent is never given twice.
  const taken: Op = { op: "agent.create", seed: { ...world.seed("a"), sessionKey: keyOf("other") } };
  const changes = [
    world.change([put("one")]),
    world.change([put("refused"), { op: "file.remove", id: "f" }]),
    world.change([put("taken"), taken]),
    world.change([put("wrong"), { op: "no such op" } as never]),
    world.change([put("last")]),
  ];
  const results = applyGroup(db, changes);
  expect(results.map((one) => (one instanceof Error ? "error" : one.ok || one.refused))).toEqual([
    ...[true, "missing", "conflict", "error", true],
  ]);
  const facts = db.all<{ key: string }>("SELECT key FROM facts ORDER BY key").map(({ key }) => key);
  expect(facts).toEqual(["last", "one"]);
  expect(db.sql.isTransaction).toBe(false);
});

test("a change inside a caller's transaction is written with it and undone with it", async () => {
  db.sql.exec("BEGIN");
  expect(applyWithin(db, world.change([postOp({ agentId: a.id }, userBody("x"), START)]))).toMatchObject({ ok: true });
  const waiting = () => db.get("SELECT waiting, next_seq FROM agents");
  expect(waiting()).toEqual({ waiting: 1, next_seq: 2 });
  db.sql.exec("ROLLBACK");
  db.agentCache.clear();
  expect(waiting()).toEqual({ waiting: 0, next_seq: 1 });
});

test("a run that ends badly leaves no wait of its agent behind, and waits of others stay", async () => {
  const b = await world.agent("b");
  const other = await world.openRun(b, "s");
  await world.agent("c");
  const wait = (id: string, from: Held, to: string, runId: RunId): Op => ({
    ...{ op: "wait.begin", id, from: from.id, to: { agentId: idOf(to) }, runId },
  });
  await world.done([wait("1", a, "b", R), wait("2", a, "c", R), wait("3", b, "c", other)]);
  await world.done([{ op: "run.end", runId: R, body: runBody(), outcome: "timeout" }], a.owner);
  expect(db.all("SELECT id FROM waits")).toEqual([{ id: "3" }]);
});
