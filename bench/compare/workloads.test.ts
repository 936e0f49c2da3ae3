import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { WORKLOADS } from "./workloads.ts";

const ROOT = join(import.meta.dirname, "../..");

describe("the workloads", () => {
  // `front` makes the same calls as the first turn of `store`.
  it.each(Object.keys(WORKLOADS).filter((name) => name !== "front"))(
    "%s measures processor time and counts statements of this checkout",
    async (name) => {
      const measured = await WORKLOADS[name]?.measure(ROOT, { turns: 4, count: true });
      expect(measured?.cpuMsPerTurn).toBeGreaterThan(0);
      expect(measured?.counts?.statements).toBeGreaterThan(5);
      expect(measured?.counts?.rows).toBeGreaterThan(3);
      expect(measured?.counts?.commits).toBeGreaterThanOrEqual(1);
      expect(measured?.counts?.pages).toBeGreaterThan(3);
      expect(measured?.counts?.fileCalls).toBeGreaterThanOrEqual(1);
    },
  );
});
