/** A home's database as one end of a copy. The home stays locked, so that no other process works in it. */
import { join } from "node:path";
import { openDatabase } from "../sqlite/database.ts";
import { lockHome } from "../sqlite/home-lock.ts";
import { DATABASE_FILE } from "../sqlite/open-store.ts";
import { type CopyEnd, PORTION } from "./copy-end.ts";
import type { CopiedRow, CopiedTable } from "./tables.ts";

export function sqliteEnd(home: string): CopyEnd {
  const lock = lockHome(home);
  const db = openDatabase(join(home, DATABASE_FILE));
  const { sql } = db;
  let writing = false;
  const numbers = new Map<string, number>();
  return {
    describe: home,
    isEmpty: async () => sql.prepare("SELECT 1 FROM agents LIMIT 1").get() === undefined,
    async *read(table) {
      let portion: CopiedRow[] = [];
      for (const row of sql.prepare(selectOf(table)).iterate()) {
        portion.push(Object.values(row) as CopiedRow);
        if (portion.length < PORTION) continue;
        yield portion;
        portion = [];
      }
      if (portion.length > 0) yield portion;
    },
    async write(table, rows) {
      if (!writing) sql.exec("BEGIN IMMEDIATE");
      writing = true;
      const names = Object.keys(table.columns);
      const insert = sql.prepare(
        `INSERT INTO ${table.name} (${names.join(", ")}) VALUES (${names.map(() => "?").join(", ")})`,
      );
      for (const row of rows) {
        if (table.name === "agents")
          numbers.set(row[names.indexOf("id")] as string, row[names.indexOf("no")] as number);
        insert.run(
          ...row.map((value, at) =>
            names[at] === table.agent && value !== null ? (numbers.get(value as string) ?? 0) : value,
          ),
        );
      }
    },
    async finish() {
      if (writing) sql.exec("COMMIT");
      writing = false;
    },
    /** SQLite rolls back a transaction that is open when its connection is closed. */
    async close() {
      db.close();
      lock.release();
    },
  };
}

function selectOf({ name, columns, key, agent }: CopiedTable): string {
  const of = (column: string): string => (column === agent ? `agents.id AS ${column}` : `t.${column}`);
  const order = key.map((column) => (column === agent ? "agents.id" : `t.${column}`)).join(", ");
  // A row may belong to no agent, but not to an unknown one.
  const join =
    agent === undefined
      ? ""
      : ` LEFT JOIN agents ON agents.no = t.${agent} WHERE t.${agent} IS NULL OR agents.no IS NOT NULL`;
  return `SELECT ${Object.keys(columns).map(of).join(", ")} FROM ${name} AS t${join} ORDER BY ${order}`;
}
