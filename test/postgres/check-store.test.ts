/** `checkStore` of `rookery/testing` on PostgreSQL: it finds nothing in the store of this project, on a real server. */
import { expect, it } from "vitest";
import { openPostgresStore } from "../../src/adapters/store/postgres/open-store.ts";
import type { Store } from "../../src/core/store/store.ts";
import { checkStore, memoryStore } from "../../src/testing.ts";
import { emptied } from "./emptied.ts";
import { freshDatabase } from "./shared.ts";

it("finds nothing in PostgreSQL, which is emptied for each rule and opened again where a rule asks for it", async () => {
  const url = await freshDatabase();
  const openStore = () => openPostgresStore({ url, leaseClock: "changes" });
  let [opened, reopened] = [0, 0];
  const open = async (): Promise<Store> => {
    opened += 1;
    const store = await openStore();
    await emptied(store);
    return store;
  };
  const reopen = async (): Promise<Store> => {
    reopened += 1;
    return openStore();
  };
  expect(await checkStore({ open, reopen })).toEqual([]);
  let rules = 0;
  await checkStore({
    open: async () => {
      rules += 1;
      return memoryStore();
    },
  });
  expect([opened, reopened > 0]).toEqual([rules, true]);
});
