/**
 * Power loss is not `kill -9`: after a kill the page cache survives, so a store that never flushes would pass every kill
 * test. Here the writes and flushes of a working process are recorded, and disks are rebuilt on which unflushed writes
 * are lost, kept or torn.
 */
import { describe, expect, test } from "vitest";
import { needs } from "../kit/needs.ts";
import { ALL } from "../kit/share.ts";
import { losePower } from "./power-loss/lose-power.ts";

describe("power loss", needs("strace"), () => {
  test("everything acknowledged survives if unflushed writes are lost, kept or torn", async () => {
    const report = await losePower({
      synchronous: "full",
      seed: "full",
      promises: ALL ? 400 : 150,
      images: ALL ? 120 : 30,
    });
    expect(report.problems).toEqual([]);
    expect(report.promises).toBeGreaterThan(ALL ? 350 : 120);
    expect(report.flushes).toBeGreaterThan(10);
    expect(report.logBegun).toBeGreaterThan(ALL ? 2 : 0);
  });

  test("the plain files match the database again on every possible disk", async () => {
    const size = ALL ? { promises: 300, images: 16 } : { promises: 100, images: 4 };
    const report = await losePower({ synchronous: "full", seed: "files", ...size, plainFiles: true });
    expect(report.problems).toEqual([]);
  });

  test.runIf(ALL)("the audit detects a store that does not flush", async () => {
    const report = await losePower({ synchronous: "off", seed: "off", promises: 300, images: 30 });
    expect(report.problems.join("\n")).toMatch(/was acknowledged and is missing|cannot be opened/);
  });

  test.runIf(ALL)("`normal` can lose the latest commits, but the remaining data is consistent", async () => {
    const report = await losePower({ synchronous: "normal", seed: "normal", promises: 300, images: 40 });
    const lost = /was acknowledged and is missing|was reported as answered/;
    expect(report.problems.some((problem) => lost.test(problem))).toBe(true);
    expect(report.problems.filter((problem) => !lost.test(problem))).toEqual([]);
  });
});
