/** Finds ids by their beginning, for people who type them. Reads only, beside a running engine. */
import { openDatabaseSync } from "./sqlite/database-sync.ts";

export type IdTable = "agents" | "runs" | "deliveries" | "jobs";

type StoreAt = { readonly database: string } | { readonly url: string };

/** At most `limit` ids that begin with this text, sorted. The cost depends only on the result. */
export async function idsBeginning(
  at: StoreAt,
  table: IdTable,
  text: string,
  limit: number,
): Promise<readonly string[]> {
  const last = `${text}\u{10FFFF}`;
  if ("database" in at) {
    const sql = openDatabaseSync(at.database, { readOnly: true, timeout: 5_000 });
    try {
      const rows = sql
        .prepare(`SELECT id FROM ${table} WHERE id >= ? AND id < ? ORDER BY id LIMIT ?`)
        .all(text, last, limit);
      return rows.map(({ id }) => String(id));
    } finally {
      sql.close();
    }
  }
  const { openPostgresStore } = await import("./postgres/open-store.ts");
  const store = await openPostgresStore({ url: at.url, maxConnections: 2, lanes: 1 });
  try {
    const client = await store.connections.own();
    try {
      const statement = `SELECT id FROM ${table} WHERE starts_with(id, $1) ORDER BY id LIMIT $2`;
      return (await client.query(statement, [text, limit])).rows.map(({ id }) => String(id));
    } finally {
      await client.end();
    }
  } finally {
    await store.close();
  }
}
