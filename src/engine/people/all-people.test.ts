import { expect, test } from "vitest";
import { allPeople } from "./all-people.ts";

test.each([
  [0, ["500 after nobody"]],
  [499, ["500 after nobody"]],
  [500, ["500 after nobody", "500 after p0499"]],
  [1_001, ["500 after nobody", "500 after p0499", "500 after p0999"]],
])("%i people are read in pages, each once and in order", async (count, pages) => {
  const stored = Array.from({ length: count }, (_, n) => ({ id: `p${String(n).padStart(4, "0")}` }));
  const reads: string[] = [];
  const people = async ({ limit, after }: { limit: number; after?: string }) => {
    reads.push(`${limit} after ${after ?? "nobody"}`);
    return stored.filter(({ id }) => after === undefined || id > after).slice(0, limit);
  };
  expect(await allPeople({ people } as never)).toEqual(stored);
  expect(reads).toEqual(pages);
});
