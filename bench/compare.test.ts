import { describe, expect, it } from "vitest";
import { type Comparison, compareCommand, regressions } from "./compare.ts";

const counts = { statements: 20, rows: 10, pages: 25, commits: 3, fileCalls: 14, readerStatements: 1 };
const comparison = (low: number, more: Partial<typeof counts> = {}): Comparison => ({
  workload: "engine",
  cpuMs: { old: 1, new: 1 },
  ratio: { median: low + 0.01, low, high: low + 0.02, confidence: 0.9 },
  counts: { old: counts, new: { ...counts, ...more } },
});

describe("regressions", () => {
  it("finds none if the interval starts at 1.05 or below and no count is higher", () => {
    expect(regressions([comparison(1.05), comparison(0.7, { statements: 12, readerStatements: 9 })])).toEqual([]);
  });

  it("names a workload whose whole interval is slower, and each count that is higher", () => {
    expect(regressions([comparison(1.06), comparison(1, { rows: 11, commits: 3.25 })])).toEqual([
      "engine: a turn takes 1.060 to 1.080 times the processor time (90 % sure)",
      "engine: 11.00 rows per turn instead of 10.00",
      "engine: 3.25 commits per turn instead of 3.00",
    ]);
  });

  it("does not judge the time if too few pairs were measured", () => {
    const few = comparison(1.4);
    expect(regressions([{ ...few, ratio: { ...few.ratio, confidence: 0.75 } }])).toEqual([]);
  });

  it("tolerates the statements of timers", () => {
    expect(regressions([comparison(1, { statements: 20.1 })])).toEqual([]);
  });
});

describe("compareCommand", () => {
  it.each([
    [["main"]],
    [["a", "b", "c"]],
    [["a", "b", "--pairs", "none"]],
    [["a", "b", "--only", "nothing"]],
    [["a", "b", "--unknown"]],
  ])("refuses %j with exit code 2", async (argv) => {
    expect(await compareCommand(argv)).toBe(2);
  });
});
