/** Search on PostgreSQL: the same tests, on a real server. One database and one store, emptied between tests. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { inTransaction } from "../../src/adapters/search/postgres/follow-shared.ts";
import { openSharedSearch } from "../../src/adapters/search/postgres/open-search.ts";
import { addDocuments, spaceNumber } from "../../src/adapters/search/postgres/search-tables.ts";
import { openPostgresStore, type PostgresStore } from "../../src/adapters/store/postgres/open-store.ts";
import { personSpace } from "../../src/core/search/search-index.ts";
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

test("among more than 20,000 texts frequent words are found in the newest ones, and rare words everywhere", async () => {
  await emptied(store);
  const search = openSharedSearch({ store, log, stays: false });
  const world = await searchWorldFor({ store, search, dispose: async () => {} });
  const { id } = await world.say("owner", "a");
  await world.find("nothing");
  const COUNT = 21_000;
  // All have four words, so of equals the newest is first. Every twentieth has "some", and one has "needle".
  const texts = Array.from({ length: COUNT }, (_, n) => {
    const second = n % 20 === 0 ? "some" : "other";
    return `everywhere ${second} number${n} ${n === 7 ? "needle" : "end"}`;
  });
  const documents = texts.map((text, n) => ({ text, at: 0, speaker: "user" as const, untrusted: undefined, pos: n }));
  await inTransaction(store, async (client) =>
    addDocuments(client, await spaceNumber(client, personSpace("owner")), { agent: id }, documents),
  );
  const newest = (has: (n: number) => boolean, count = 5): readonly string[] =>
    texts
      .filter((_, n) => has(n))
      .slice(-count)
      .reverse();
  const isSome = (n: number): boolean => n % 20 === 0;
  // In nearly every text, in some of them, in one of them.
  expect(await world.find("everywhere")).toEqual(newest(() => true));
  expect(await world.find("some")).toEqual(newest(isSome));
  expect(await world.find("needle")).toEqual([texts[7]]);
  // Together, as a phrase, the beginning of a word, in one conversation.
  expect(await world.find("everywhere some")).toEqual(newest(isSome));
  expect((await world.find("everywhere needle"))[0]).toBe(texts[7]);
  expect((await world.find("some needle"))[0]).toBe(texts[7]);
  expect(await world.find('"everywhere some"')).toEqual(newest(isSome));
  expect(await world.find('"some everywhere"')).toEqual([]);
  expect((await world.find("number2099*", { limit: 20 })).length).toBe(11);
  expect(await world.find("some", { agentId: id })).toEqual(newest(isSome));
  expect(await world.find("some", { people: ["ann"] })).toEqual([]);
  await search.close();
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
