/** What erasing leaves in tables that no read shows, and how a database is compacted. */
import { expect, test } from "vitest";
import { idOf, START } from "../../../app/testing/store-world.ts";
import type { DeliveryId, RunId } from "../../../core/ids.ts";
import type { Op } from "../../../core/store/change.ts";
import { openDatabase } from "./database.ts";
import { eraserOf } from "./erase.ts";
import { memoryWorld } from "./memory-world.test-kit.ts";
import { writeHold } from "./stored-files.ts";

test("an erased agent leaves no hold, reservation or notice behind, and those of another stay", async () => {
  const { world, db } = await memoryWorld();
  for (const name of ["a", "b"]) {
    const held = await world.agent(name);
    const runId = await world.openRun(held, `run-${name}`);
    const delivery = { id: `d-${name}` as DeliveryId, agentId: held.id, target: { channel: "test", to: name } };
    const call = { prompt: 1, maxTokens: 1, leastTokens: 1, read: 1, write: 1 };
    const ops: readonly Op[] = [
      { op: "delivery.add", delivery: { ...delivery, payload: { text: "x" }, createdAt: START } },
      { op: "budget.reserve", id: `c-${name}`, runId: runId as RunId, call, rows: [{ key: "day:x", limit: {} }] },
      { op: "budget.told", key: "day:x" },
    ];
    await world.done(ops, held.owner);
    writeHold(db, "file", `agent:${held.id}`);
    writeHold(db, "file", `delivery:d-${name}`);
  }
  const left = () => ({
    holds: db.all<{ holder: string }>("SELECT holder FROM file_holds ORDER BY holder").map(({ holder }) => holder),
    reservations: db.all<{ id: string }>("SELECT id FROM reservations ORDER BY id").map(({ id }) => id),
    told: db.all<{ agent: string }>("SELECT agent FROM budget_told ORDER BY agent").map(({ agent }) => agent),
  });
  expect([left().holds.length, left().reservations.length, left().told.length]).toEqual([4, 2, 2]);
  await world.done([{ op: "agent.erase", agentId: idOf("a"), tombstone: "gone" }]);
  expect(left()).toEqual({
    ...{ holds: [`agent:${idOf("b")}`, "delivery:d-b"], reservations: ["c-b"], told: [idOf("b")] },
  });
  db.close();
});

test("compacting waits longer for readers, and no longer than before when it is over, also if it fails", async () => {
  const db = openDatabase(":memory:");
  const executed: string[] = [];
  const exec = db.sql.exec.bind(db.sql);
  db.sql.exec = (text) => {
    executed.push(text);
    exec(text);
  };
  const steps = [
    "PRAGMA busy_timeout = 30000",
    "VACUUM",
    "PRAGMA wal_checkpoint(TRUNCATE)",
    "PRAGMA busy_timeout = 5000",
  ];
  await eraserOf(db).compact();
  expect(executed).toEqual(steps);
  exec("BEGIN");
  await expect(eraserOf(db).compact()).rejects.toThrow("VACUUM");
  expect(executed.slice(4)).toEqual([steps[0], steps[1], steps[3]]);
  exec("ROLLBACK");
  db.close();
});
