import { expect, test } from "vitest";
import type { EntryId } from "../../../core/ids.ts";
import { pathTo, treeProblems } from "./tree.ts";

/** `b<a` on the nth line is the entry b below a. */
const placed = (...all: readonly string[]) =>
  all.map((text, index) => {
    const [id = "", parentId] = text.split("<");
    return { line: index + 2, id: id as EntryId, parentId: (parentId ?? null) as EntryId | null };
  });
const path = (leaf: string | null, ...all: readonly string[]): string =>
  pathTo(placed(...all), leaf as EntryId | null)
    .map(({ id }) => id)
    .join(" ");

test.each([
  ["c", ["a", "b<a", "c<b"], "a b c"],
  ["b", ["a", "b<a", "c<b"], "a b"],
  ["d", ["a", "b<a", "c<b", "d<a"], "a d"],
  ["c", ["b<gone", "c<b"], "b c"],
  ["b", ["a<b", "b<a"], "a b"],
  ["a", ["a<a"], "a"],
  ["gone", ["a"], ""],
  [null, ["a"], ""],
])("the path to %s in %j is %j", (leaf, all, expected) => {
  expect(path(leaf, ...all)).toBe(expected);
});

const loop = "its parents lead back to itself";
const missing = (id: string): string => `its parent ${id} is missing`;

test.each<[readonly string[], readonly [number, string][]]>([
  [["a", "b<a", "c<a"], []],
  [["a<x"], [[2, missing("x")]]],
  // Each problem once, however many entries lead to it.
  [["a<x", "b<a", "c<a"], [[2, missing("x")]]],
  [["a<a", "b<a"], [[2, loop]]],
  [["a<b", "b<a", "c<b"], [[2, loop]]],
  // In the order of the lines, not in that in which they are found.
  [
    ["e<d", "c<x", "b<y", "d<z"],
    [
      [3, missing("x")],
      [4, missing("y")],
      [5, missing("z")],
    ],
  ],
])("the tree %j has the problems %j", (all, problems) => {
  expect(treeProblems(placed(...all))).toEqual(problems.map(([line, reason]) => ({ line, reason })));
});
