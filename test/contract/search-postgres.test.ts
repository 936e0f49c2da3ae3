/** Search on PostgreSQL: the same tests, on a real server. One database and one store, emptied between tests. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { openSharedSearch } from "../../src/adapters/search/postgres/open-search.ts";
import { openPostgresStore, type PostgresStore } from "../../src/adapters/store/postgres/open-store.ts";
import { emptied } from "../postgres/emptied.ts";
import { freshDatabase } from "../postgres/shared.ts";
import { searchContract, searchWorldFor } from "./search-contract.ts";

const log = { warn: (text: string) => expect.fail(text) };
let url = "";
let store: PostgresStore;
beforeAll(async () => {
  url = await freshDatabase();
  store = await openPostgresStore({ url, leaseClock: "changes" });
});
afterAll(() => store?.close());

searchContract("PostgreSQL", async () => {
  await emptied(store);
  const search = openSharedSearch({ store, log, stays: false });
  return { store, search, dispose: () => search.close() };
});

test("one node follows for all: the others search what it indexed, and one of them takes over", async () => {
  await emptied(store);
  const second = await openPostgresStore({ url, leaseClock: "changes" });
  const first = openSharedSearch({ store, log, stays: false });
  const other = openSharedSearch({ store: second, log, stays: false });
  const world = await searchWorldFor({ store, search: first, dispose: async () => {} });
  const request = { query: "walrus", people: ["owner"], notes: [], limit: 5 };
  await world.say("owner", "a", "walrus one");
  expect(await first.search(request)).toHaveLength(1);
  await world.say("owner", "b", "walrus two");
  expect(await other.search(request)).toHaveLength(1);
  expect(await first.search(request)).toHaveLength(2);
  expect(await other.search(request)).toHaveLength(2);
  await first.close();
  await world.say("owner", "c", "walrus three");
  expect(await other.search(request)).toHaveLength(3);
  await other.close();
  await second.close();
});
