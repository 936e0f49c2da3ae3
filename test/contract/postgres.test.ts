/** The contract on PostgreSQL: the very same tests, on a real server. One database, emptied between tests. */
import { beforeAll } from "vitest";
import { openPostgresStore } from "../../src/adapters/store/postgres/open-store.ts";
import { emptied } from "../postgres/emptied.ts";
import { freshDatabase } from "../postgres/shared.ts";
import { storeContract } from "./store-contract.ts";

let url = "";
beforeAll(async () => {
  url = await freshDatabase();
});

storeContract("PostgreSQL", async () => {
  const open = () => openPostgresStore({ url, leaseClock: "changes" });
  const store = await open();
  await emptied(store);
  const damage = async (statement: string): Promise<void> => {
    await store.connections.use("read", (client) => client.query(statement));
  };
  return { store, reopen: open, damage };
});
