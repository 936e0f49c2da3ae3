/** The contract on PostgreSQL: the same tests, on a real server. One database and one store, emptied between tests. */
import { afterAll, beforeAll } from "vitest";
import { openPostgresStore, type PostgresStore } from "../../src/adapters/store/postgres/open-store.ts";
import { emptied } from "../postgres/emptied.ts";
import { freshDatabase } from "../postgres/shared.ts";
import { storeContract } from "./store-contract.ts";

let url = "";
let shared: PostgresStore | undefined;
beforeAll(async () => {
  url = await freshDatabase();
});
afterAll(() => shared?.close());

storeContract("PostgreSQL", async () => {
  const open = () => openPostgresStore({ url, leaseClock: "changes" });
  // An earlier test may have closed the shared store.
  if (!shared || shared.connections.closed) shared = await open();
  const store = shared;
  await emptied(store);
  const damage = async (statement: string): Promise<void> => {
    await store.connections.use("read", (client) => client.query(statement));
  };
  return { store, reopen: open, isShared: true, damage };
});
