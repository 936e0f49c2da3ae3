import { describe, expect, it } from "vitest";
import { median, medianInterval, percentile } from "./statistics.ts";

describe("medianInterval", () => {
  it("returns the fourth lowest and fourth highest of fifteen values, with 96.5 % confidence", () => {
    const values = Array.from({ length: 15 }, (_, n) => 15 - n);
    const { confidence, ...interval } = medianInterval(values);
    expect(interval).toEqual({ median: 8, low: 4, high: 12 });
    expect(confidence).toBeCloseTo(0.9648, 4);
  });

  it("returns a low confidence for few values", () => {
    expect(medianInterval([1.2, 0.9, 1])).toEqual({ median: 1, low: 0.9, high: 1.2, confidence: 0.75 });
    expect(medianInterval([1])).toEqual({ median: 1, low: 1, high: 1, confidence: 0 });
  });

  it("is not moved by outliers", () => {
    const values = [...Array.from({ length: 13 }, (_, n) => 1 + n / 1000), 50, 0.01];
    const { low, high } = medianInterval(values);
    expect(low).toBeGreaterThan(0.99);
    expect(high).toBeLessThan(1.02);
  });

  it("contains the true median about as often as its confidence promises", () => {
    // A fixed generator: the test has the same result every time.
    let state = 1;
    const chance = (): number => {
      state = (state * 48_271) % 2_147_483_647;
      return state / 2_147_483_647;
    };
    const tries = 2_000;
    let held = 0;
    for (let n = 0; n < tries; n++) {
      const { low, high } = medianInterval(Array.from({ length: 15 }, () => chance() ** 3));
      if (low <= 0.125 && 0.125 <= high) held += 1;
    }
    expect(held / tries).toBeGreaterThan(0.95);
    expect(held / tries).toBeLessThan(0.98);
  });
});

describe("percentile", () => {
  it("returns the value below which the given share of values lies", () => {
    expect(percentile([5, 1, 4, 2, 3], 0.99)).toBe(5);
    expect(median([3, 1, 2])).toBe(2);
  });
});
