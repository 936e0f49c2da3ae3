import { expect, it } from "vitest";
import { countsAbove, countTurns } from "./turn-counts.ts";

it("keeps the statements, rows, pages, commits and file calls of a turn over HTTP within their limits", async () => {
  expect(countsAbove(await countTurns())).toEqual([]);
});
