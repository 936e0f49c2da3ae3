import { describe, expect, it } from "vitest";
import { changedCounts, describeChange, lowerBudgets, printBudgets, readBudgets } from "./compare-budgets.ts";
import { budgetFolder, countByFolder, filesOf, inPaths } from "./hits.ts";

const messages = (budgets: Record<string, number>, counts: Record<string, number>): readonly string[] =>
  changedCounts(new Map(Object.entries(budgets)), new Map(Object.entries(counts))).map(describeChange);

describe("a count", () => {
  it("passes if it equals its budget", () => {
    expect(messages({ "docs words": 3 }, { "docs words": 3 })).toEqual([]);
  });

  it("fails if it rises, with the command that lists the hits", () => {
    expect(messages({ "src/engine/runs casts": 3 }, { "src/engine/runs casts": 4 })).toEqual([
      'src/engine/runs: casts rose from 3 to 4. Run "npm run tool -- budgets --list casts src/engine/runs" to see them.',
    ]);
  });

  it("fails if it falls, with the command that lowers the budget", () => {
    expect(messages({ "docs words": 3 }, {})).toEqual([
      'docs: words fell from 3 to 0. Run "npm run tool -- budgets --write" to lower the budget.',
    ]);
  });

  it("has a budget of 0 in a new folder", () => {
    expect(messages({ "docs words": 3 }, { "docs words": 3, "src/new words": 1 })).toEqual([
      'src/new: words rose from 0 to 1. Run "npm run tool -- budgets --list words src/new" to see them.',
    ]);
  });
});

describe("--write", () => {
  it("lowers budgets and raises none", () => {
    const budgets = new Map([
      ["a words", 3],
      ["b words", 3],
      ["c words", 3],
    ]);
    const counts = new Map([
      ["a words", 2],
      ["b words", 4],
      ["d words", 1],
    ]);
    expect(JSON.parse(printBudgets(lowerBudgets(budgets, counts)))).toEqual({ "a words": 2, "b words": 3 });
  });

  it("prints one sorted line per folder and kind, which can be read back", () => {
    const counts = new Map([
      ["b words", 1],
      ["a words", 2],
    ]);
    const json = printBudgets(counts);
    expect(json).toBe('{\n  "a words": 2,\n  "b words": 1\n}\n');
    expect(readBudgets(json)).toEqual(counts);
  });
});

it("reads the lower number where a merge left both sides", () => {
  const json = '{\n<<<<<<< HEAD\n  "a words": 5,\n=======\n  "a words": 4,\n>>>>>>> branch\n  "b words": 1\n}\n';
  expect(readBudgets(json)).toEqual(
    new Map([
      ["a words", 4],
      ["b words", 1],
    ]),
  );
});

describe("a folder", () => {
  it.each([
    ["src/engine/agents/actor/driver.ts", "src/engine/agents"],
    ["src/core/ids.ts", "src/core"],
    ["test/sim/world/run-world.ts", "test/sim"],
    ["docs/cli.md", "docs"],
    ["README.md", "."],
  ])("counts %s in %s", (file, folder) => {
    expect(budgetFolder(file)).toBe(folder);
  });

  it("counts the hits of each kind", () => {
    const hit = { file: "src/core/a/b.ts", line: 1, text: "" };
    expect(
      countByFolder([
        { ...hit, kind: "words" },
        { ...hit, kind: "words" },
        { ...hit, kind: "casts" },
      ]),
    ).toEqual(
      new Map([
        ["src/core/a casts", 1],
        ["src/core/a words", 2],
      ]),
    );
  });
});

it.each([
  ["src/core/a.ts", [], true],
  ["src/core/a.ts", ["src/core"], true],
  ["src/core/a.ts", ["./src/core/"], true],
  ["src/core/a.ts", ["src/core/a.ts"], true],
  ["src/core/a.ts", ["src/co"], false],
  ["README.md", ["."], true],
  ["src/core/a.ts", ["."], false],
])("finds out whether %s is in %j: %s", (file, paths, expected) => {
  expect(inPaths(file, paths)).toBe(expected);
});

it.each([
  ["src/core", ["src/core/a.ts"]],
  ["src/core/agent", ["src/core/agent/b.ts", "src/core/agent/deep/c.ts"]],
  ["src", ["src/core/a.ts", "src/core/agent/b.ts", "src/core/agent/deep/c.ts"]],
  ["src/core/agent/deep", ["src/core/agent/deep/c.ts"]],
])("lists the files that are counted in %s, or all files below it", (path, expected) => {
  const files = ["README.md", "src/core/a.ts", "src/core/agent/b.ts", "src/core/agent/deep/c.ts"];
  expect(filesOf(path, files)).toEqual(expected);
});
