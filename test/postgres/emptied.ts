/** Empties a store's database, so that tests can share one. */
import type { PostgresStore } from "../../src/adapters/store/postgres/open-store.ts";

export async function emptied(store: PostgresStore): Promise<void> {
  await store.connections.use("read", async (client) => {
    const { rows } = await client.query(
      `SELECT string_agg(format('DELETE FROM %I', relname), '; ') AS text FROM pg_class
       WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition AND relname <> 'meta'`,
    );
    await client.query(rows[0]?.text);
  });
}
