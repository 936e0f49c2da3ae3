import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { tries } from "../../../test/kit/share.ts";
import { backoffMs } from "./backoff.ts";

describe("backoff", () => {
  it("doubles from the base to the bound, spread by a quarter either way", () => {
    fc.assert(
      fc.property(fc.string(), fc.integer({ min: 1, max: 10_000 }), (key, attempts) => {
        const full = Math.min(300_000, 1_000 * 2 ** (attempts - 1));
        expect(backoffMs(key, attempts)).toBeGreaterThanOrEqual(Math.floor(full * 0.75));
        expect(backoffMs(key, attempts)).toBeLessThanOrEqual(Math.ceil(full * 1.25));
      }),
      { numRuns: tries(500) },
    );
  });

  it("is the same for the same try, and different for different ones", () => {
    expect(backoffMs("a", 3)).toBe(backoffMs("a", 3));
    const waits = new Set(Array.from({ length: 200 }, (_, n) => backoffMs(`delivery-${n}`, 8)));
    expect(waits.size).toBeGreaterThan(150);
  });

  it("spreads over the whole range", () => {
    const shares = Array.from({ length: 1_000 }, (_, n) => backoffMs(`k${n}`, 9) / 256_000);
    expect(Math.min(...shares)).toBeLessThan(0.8);
    expect(Math.max(...shares)).toBeGreaterThan(1.2);
  });

  it("is a second at first and five minutes at most, or what the caller says", () => {
    const [low, high] = [1, 50].map((attempts) => backoffMs("a", attempts, { retryMinMs: 8, retryMaxMs: 64 }));
    expect(low).toBeGreaterThanOrEqual(6);
    expect(low).toBeLessThanOrEqual(10);
    expect(high).toBeGreaterThanOrEqual(48);
    expect(high).toBeLessThanOrEqual(80);
  });

  it("before any attempt is the same as after the first", () => {
    expect(backoffMs("a", 0)).toBeLessThanOrEqual(1_250);
  });
});
