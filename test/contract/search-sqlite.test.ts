/** Search on SQLite: the index of a home, in this thread and in its own. */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { homeIndex } from "../../src/adapters/search/sqlite/home-index.ts";
import { startSearch } from "../../src/adapters/search/sqlite/start-search.ts";
import { openSqliteStore } from "../../src/adapters/store/sqlite/open-store.ts";
import type { SearchIndex } from "../../src/core/search/search-index.ts";
import { type OpenedSearch, searchContract } from "./search-contract.ts";

const log = { warn: (text: string) => expect.fail(text) };

function opened(searchOf: (paths: { databasePath: string; indexPath: string }) => SearchIndex): OpenedSearch {
  const home = mkdtempSync(join(tmpdir(), "rookery-search-"));
  const store = openSqliteStore({ home });
  const search = searchOf({ databasePath: join(home, "rookery.db"), indexPath: join(home, "search.db") });
  return {
    store,
    search,
    async dispose() {
      await search.close();
      await store.close();
      rmSync(home, { recursive: true, force: true });
    },
  };
}

searchContract("SQLite", async () =>
  opened((paths) => {
    const index = homeIndex(paths);
    return {
      search: (request) => index.search(request),
      rebuild: async () => index.rebuild(),
      forget: async (traces) => index.forget(traces),
      state: async () => index.state(),
      close: async () => index.close(),
    };
  }),
);

test("the index in its own thread is built again if its file is damaged, and closing ends the thread", async () => {
  const home = mkdtempSync(join(tmpdir(), "rookery-search-"));
  const store = openSqliteStore({ home });
  const indexPath = join(home, "search.db");
  writeFileSync(indexPath, "this is not an index ".repeat(1_000));
  const search = startSearch({ databasePath: join(home, "rookery.db"), indexPath, log, stays: false });
  const request = { query: "walrus", people: ["owner"], notes: [], limit: 5 };
  expect(await search.search(request)).toEqual([]);
  expect(await search.state()).toEqual({ documents: 0, behind: 0 });
  await search.close();
  await expect(search.search(request)).rejects.toThrow("closed");
  await store.close();
  expect(existsSync(indexPath)).toBe(true);
  rmSync(home, { recursive: true, force: true });
});

test("an index of another database is not used", async () => {
  const homes = [0, 1].map(() => mkdtempSync(join(tmpdir(), "rookery-search-")));
  const indexPath = join(homes[0] ?? "", "search.db");
  const found: number[] = [];
  for (const home of homes) {
    const store = openSqliteStore({ home });
    const { searchWorldFor } = await import("./search-contract.ts");
    const index = homeIndex({ databasePath: join(home, "rookery.db"), indexPath });
    const search = {
      search: index.search,
      rebuild: async () => {},
      forget: async () => {},
      state: async () => index.state(),
      close: async () => {},
    };
    const world = await searchWorldFor({ store, search, dispose: async () => {} });
    await world.say("owner", "a", `walrus ${home}`);
    found.push((await world.find("walrus")).length);
    index.close();
    await store.close();
  }
  expect(found).toEqual([1, 1]);
  for (const home of homes) rmSync(home, { recursive: true, force: true });
});
