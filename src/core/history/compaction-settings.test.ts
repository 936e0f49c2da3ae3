import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import {
  type ContextLimits,
  contextThresholds,
  DEFAULT_COMPACTION,
  DEFAULT_CONTEXT_LIMITS,
} from "./compaction-settings.ts";

const limits = (more: Partial<ContextLimits>): ContextLimits => ({ ...DEFAULT_CONTEXT_LIMITS, ...more });

test.each([
  // window, emergency limit, reserve, floor → emergency, warning, critical, reserve, kept, flush
  [200_000, 200_000, 16_384, 20_000, [200_000, 150_000, 180_000, 20_000, 20_000, 146_000]],
  [1_000_000, 200_000, 16_384, 20_000, [200_000, 150_000, 180_000, 20_000, 20_000, 146_000]],
  [1_000_000, 900_000, 50_000, 20_000, [900_000, 675_000, 810_000, 50_000, 20_000, 671_000]],
  [200_000, 200_000, 60_000, 20_000, [200_000, 139_999, 140_000, 60_000, 20_000, 135_999]],
  [128_000, 200_000, 16_384, 20_000, [128_000, 96_000, 108_000, 20_000, 20_000, 92_000]],
  [128_000, 200_000, 16_384, 0, [128_000, 96_000, 111_616, 16_384, 20_000, 92_000]],
  [128_000, 200_000, 0, 0, [128_000, 96_000, 115_200, 0, 20_000, 92_000]],
  [32_000, 200_000, 16_384, 20_000, [32_000, 23_999, 24_000, 8_000, 8_000, 19_999]],
  [8_000, 200_000, 16_384, 20_000, [8_000, 5_999, 6_000, 2_000, 2_000, 3_999]],
  [10, 200_000, 16_384, 20_000, [10, 7, 8, 2, 2, 5]],
  [200_000, 4, 16_384, 20_000, [4, 3, 4, 20_000, 1, 2]],
])(
  "computes the thresholds of a window of %d, limit %d, reserve %d (floor %d)",
  (contextWindow, emergencyContextLimit, reserveTokens, reserveTokensFloor, [
    emergency,
    warning,
    critical,
    reserve,
    keepRecent,
    flush,
  ]) => {
    expect(
      contextThresholds(limits({ contextWindow, emergencyContextLimit, reserveTokens, reserveTokensFloor })),
    ).toEqual({
      emergency,
      warning,
      critical,
      reserve,
      keepRecent,
      flush,
    });
  },
);

describe("contextThresholds", () => {
  it.each<[string, Partial<ContextLimits>, object]>([
    ["a large reserve that was asked for", { reserveTokens: 100_000 }, { reserve: 100_000, critical: 100_000 }],
    ["at most three quarters as that reserve", { reserveTokens: 190_000 }, { reserve: 150_000, critical: 50_000 }],
    [
      "the shares of a lower emergency limit",
      { emergencyContextLimit: 100_000 },
      { emergency: 100_000, critical: 90_000, warning: 75_000, flush: 71_000 },
    ],
    ["the window as the highest limit", { emergencyContextLimit: 1e6 }, { emergency: 200_000 }],
    ["a quarter of the limit as the most to keep", { keepRecentTokens: 1e6 }, { keepRecent: 50_000 }],
    [
      "a critical limit of one in an empty window",
      { contextWindow: 0 },
      { emergency: 1, critical: 1, warning: 0, flush: 0, reserve: 0, keepRecent: 0 },
    ],
  ])("returns %s", (_title, more, expected) => {
    expect(contextThresholds(limits(more))).toMatchObject(expected);
  });

  it("returns thresholds that are in order and leave room, with any settings", () => {
    const count = fc.integer({ min: 0, max: 2_000_000 });
    fc.assert(
      fc.property(count, count, count, count, count, count, (window, limit, reserve, floor, keep, soft) => {
        const memoryFlush = { ...DEFAULT_COMPACTION.memoryFlush, softThresholdTokens: soft };
        const settings = limits({
          ...{ contextWindow: window, emergencyContextLimit: limit, reserveTokens: reserve },
          ...{ reserveTokensFloor: floor, keepRecentTokens: keep, memoryFlush },
        });
        const { flush, warning, critical, emergency, keepRecent } = contextThresholds(settings);
        expect(flush).toBeLessThanOrEqual(warning);
        expect(warning).toBeLessThan(critical);
        expect(critical).toBeLessThanOrEqual(emergency);
        expect(emergency).toBeLessThanOrEqual(Math.max(1, window));
        expect(keepRecent).toBeLessThan(critical);
      }),
    );
  });
});
