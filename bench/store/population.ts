/** Fills a home: with many agents, or with agents of a long history. */
import { closeSync, fsyncSync, openSync } from "node:fs";
import { join } from "node:path";
import { openDatabase } from "../../src/adapters/store/sqlite/database.ts";
import { DATABASE_FILE, openSqliteStore } from "../../src/adapters/store/sqlite/open-store.ts";
import { systemIds } from "../../src/adapters/system/system-ids.ts";
import { leafOf, lineOf, seedOf } from "./workload.ts";

const PER_CHANGE = 500;

/** Creates this many agents through the store itself. */
export async function populate(home: string, agents: number): Promise<void> {
  const store = openSqliteStore({ home, synchronous: "off" });
  const ids = systemIds();
  for (let made = 0; made < agents; made += PER_CHANGE) {
    const count = Math.min(PER_CHANGE, agents - made);
    const ops = Array.from({ length: count }, (_, i) => ({ op: "agent.create" as const, seed: seedOf(made + i) }));
    const result = await store.commit({ id: ids.change(), site: "bench.populate", at: made, ops });
    if (!result.ok) throw new Error(result.detail);
  }
  await store.close();
  settleDisk(join(home, DATABASE_FILE));
}

/** Flushes the file, so that pending writes do not slow down the next measurement. */
export function settleDisk(path: string): void {
  const file = openSync(path, "r+");
  fsyncSync(file);
  closeSync(file);
}

/** Adds this many entries to every agent of a home, in the order of real use: all agents take turns. */
export function lengthenHistories(home: string, entries: number): void {
  const { sql, close } = openDatabase(join(home, DATABASE_FILE), { synchronous: "off" });
  const line = lineOf(0, leafOf(0));
  sql.exec("BEGIN");
  sql
    .prepare(
      `INSERT INTO entries (agent, pos, line)
       WITH RECURSIVE places (pos) AS (SELECT 2 UNION ALL SELECT pos + 1 FROM places WHERE pos + 1 < ?)
       SELECT agents.no, places.pos, ? FROM places CROSS JOIN agents`,
    )
    .run(entries, line);
  sql.prepare("UPDATE agents SET next_pos = ?").run(entries);
  sql.exec("COMMIT");
  close();
}

/** Picks this many agents, spread evenly over a population. */
export const spread = (count: number, population: number): number[] =>
  Array.from({ length: count }, (_, i) => Math.floor((i * population) / count));
