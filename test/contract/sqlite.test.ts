/** The contract on SQLite: in memory, and on a file in its own home. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { openMemoryStore, openSqliteStore } from "../../src/adapters/store/sqlite/open-store.ts";
import { storeContract } from "./store-contract.ts";

storeContract("SQLite in memory", async () => ({ store: openMemoryStore() }));

storeContract("an SQLite file", async () => {
  const home = mkdtempSync(join(tmpdir(), "rookery-contract-"));
  return {
    store: openSqliteStore({ home }),
    reopen: async () => openSqliteStore({ home }),
    dispose: async () => rmSync(home, { recursive: true, force: true }),
    async damage(statement) {
      const db = new DatabaseSync(join(home, "rookery.db"));
      db.exec(statement);
      db.close();
    },
  };
});
