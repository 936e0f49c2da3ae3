/** The filled index on each store. */
import { join } from "node:path";
import { postgresDocuments } from "../../src/adapters/search/postgres/search-documents.ts";
import {
  addDocuments,
  createSearchTables,
  type SpaceRow,
  spaceNumber,
} from "../../src/adapters/search/postgres/search-tables.ts";
import { wordShares } from "../../src/adapters/search/postgres/word-shares.ts";
import { openIndexFile } from "../../src/adapters/search/sqlite/index-file.ts";
import { readAhead } from "../../src/adapters/search/sqlite/read-ahead.ts";
import { openPostgresStore } from "../../src/adapters/store/postgres/open-store.ts";
import { startServer } from "../../test/postgres/server.ts";
import { cachedData } from "./cached-data.ts";
import { ENTRIES, fill, SPACES } from "./fill.ts";
import { type Searched, searchAll } from "./search.ts";

const sqliteData = () =>
  cachedData({
    name: "sqlite",
    entries: ENTRIES,
    sources: ["src/adapters/search/sqlite/index-schema.ts"],
    async build(directory) {
      const index = openIndexFile(join(directory, "search.db"));
      await fill(async (space, documents) => {
        const from = space === "person:owner" ? { agent: { no: 1, id: "a".repeat(24) } } : { file: 1 };
        index.transaction(() => index.add(space, from, documents));
      });
      index.db.sql.exec("CREATE INDEX bench_pos ON docs (pos)");
      index.close();
    },
  });

export async function onSqlite(): Promise<Searched> {
  const file = join(await sqliteData(), "search.db");
  const index = openIndexFile(file);
  // As the thread of the index does after its start.
  const ahead = readAhead(file);
  while (ahead.step());
  const text = "SELECT text FROM docs WHERE agent = 1 AND pos = ?";
  const searched = await searchAll(
    () => index.inSpaces(SPACES),
    async (position) => index.db.get<{ text: string }>(text, position)?.text ?? "",
  );
  index.close();
  return searched;
}

const postgresData = () =>
  cachedData({
    name: "postgres",
    entries: ENTRIES,
    sources: ["src/adapters/search/postgres/search-tables.ts"],
    async build(directory) {
      const server = await startServer({ directory, settings: { max_wal_size: "4GB" } });
      const store = await openPostgresStore({ url: server.url });
      await createSearchTables(store.connections);
      await store.connections.use("read", async (client) => {
        const numbers = new Map<string, number>();
        for (const space of SPACES) numbers.set(space, await spaceNumber(client, space));
        await fill((space, documents) =>
          addDocuments(
            client,
            numbers.get(space) ?? 0,
            space === "person:owner" ? { agent: "a".repeat(24) } : { file: 1 },
            documents,
          ),
        );
        await client.query("VACUUM ANALYZE search_docs");
        await client.query("CREATE INDEX bench_pos ON search_docs (pos)");
      });
      await store.close();
      await server.halt();
    },
  });

export async function onPostgres(): Promise<Searched> {
  const server = await startServer({ directory: await postgresData() });
  const store = await openPostgresStore({ url: server.url });
  const { connections } = store;
  try {
    const rows = await connections.all<SpaceRow>({ name: "bench-spaces", text: "SELECT no, next FROM search_spaces" });
    const frequent = wordShares(connections, Date.now);
    const textAt = { name: "bench-text", text: "SELECT text FROM search_docs WHERE pos = $1 AND agent IS NOT NULL" };
    return await searchAll(
      () => postgresDocuments(connections, rows, frequent, undefined),
      async (position) => (await connections.one<{ text: string }>(textAt, position))?.text ?? "",
    );
  } finally {
    await store.close();
    await server.halt();
  }
}
