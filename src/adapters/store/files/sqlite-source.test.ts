/** What the mirror reads at the edges of its database: nothing, the first row, and nothing of another agent. */
import { afterEach, beforeEach, expect, test } from "vitest";
import type { AgentId } from "../../../core/ids.ts";
import { type Database, openDatabase } from "../sqlite/database.ts";
import { sqliteSource } from "./sqlite-source.ts";
import { Workload } from "./workload.test-kit.ts";

let db: Database;
beforeEach(() => {
  db = openDatabase(":memory:");
});
afterEach(() => db.close());

test("an empty log has the bounds zero, and another one those of its oldest and newest change", () => {
  const source = sqliteSource(db.sql);
  expect([source.bounds(), source.changeId(0), source.changesAfter(0, 9)]).toEqual([
    { first: 0, last: 0 },
    undefined,
    [],
  ]);
  const work = new Workload(db);
  work.agent("ann");
  work.agent("bob");
  expect(source.bounds()).toEqual({ first: 1, last: 3 });
  expect(source.changesAfter(1, 1)).toMatchObject([{ n: 2, touched: "1" }]);
  expect([source.changeId(1), source.changeId(4)]).toEqual(["change-000001", undefined]);
  db.run("DELETE FROM changes WHERE n = 1");
  expect(source.bounds()).toEqual({ first: 2, last: 3 });
  expect([source.agentsAfter(0, 9), source.agentsAfter(1, 9), source.agentsAfter(0, 1)]).toEqual([[1, 2], [2], [1]]);
});

test("lines, messages, keys and deliveries are those of one agent, from where they are asked for", () => {
  const source = sqliteSource(db.sql);
  const work = new Workload(db);
  const [ann, bob] = [work.agent("ann"), work.agent("bob")] as [AgentId, AgentId];
  expect([source.knowsAgent(ann), source.knowsAgent("none"), source.agent(3)]).toEqual([true, false, undefined]);
  for (const text of ["one", "two", "three"]) work.post(ann, text);
  work.post(bob, "other");
  const runId = work.take(ann, [1]);
  expect(source.openRun(runId)).toMatchObject({ id: runId, attempt: 1, step: 1 });
  expect(source.unsettled(1, 1).map(({ seq, state }) => [seq, state])).toEqual([
    [1, "taken"],
    [2, "waiting"],
    [3, "waiting"],
  ]);
  expect(source.unsettled(1, 3).map(({ seq }) => seq)).toEqual([3]);
  expect(source.dedupeKeys(1, 0, 9).map(([, seq]) => seq)).toEqual([1, 2, 3]);
  expect(source.dedupeKeys(1, 1, 9).map(([, seq]) => seq)).toEqual([2, 3]);
  expect(source.dedupeKeys(1, 0, 2).map(([, seq]) => seq)).toEqual([2, 3]);
  const [key = ""] = source.dedupeKeys(2, 0, 9)[0] ?? [];
  expect([source.dedupeKey(2, key)?.[0], source.dedupeKey(1, key)]).toEqual([key, undefined]);
  expect(source.lines(1, 1, 9).map(({ pos }) => pos)).toEqual([1, 2]);
  expect(source.lines(1, 0, 2).map(({ pos }) => pos)).toEqual([0, 1]);
  expect(source.openDeliveries(1)).toEqual([]);
  const delivery = work.answer(ann, runId, [1]);
  expect(source.openRun(runId)).toBeUndefined();
  expect([source.openDeliveries(1).map(({ id }) => id), source.openDeliveries(2)]).toEqual([[delivery.id], []]);
  work.sent(delivery);
  expect(source.openDeliveries(1)).toEqual([]);
});
