/**
 * Power loss is not `kill -9`: after a kill the page cache survives, so a store that never flushes would pass every kill
 * test. Here the writes and flushes of a working process are recorded, and disks are rebuilt on which unflushed writes
 * are lost, kept or torn.
 */
import { describe, expect, test } from "vitest";
import { needs } from "../kit/needs.ts";
import { losePower } from "./power-loss/lose-power.ts";

describe("power loss", needs("strace"), () => {
  test("everything acknowledged survives if unflushed writes are lost, kept or torn", async () => {
    const report = await losePower({ synchronous: "full", seed: "full", promises: 400, images: 120 });
    expect(report.problems).toEqual([]);
    expect(report.promises).toBeGreaterThan(350);
    expect(report.flushes).toBeGreaterThan(10);
    expect(report.logBegun).toBeGreaterThan(2);
  });

  test("the plain files match the database again on every possible disk", async () => {
    const report = await losePower({ synchronous: "full", seed: "files", promises: 300, images: 16, plainFiles: true });
    expect(report.problems).toEqual([]);
  });

  test("the audit detects a store that does not flush", async () => {
    const report = await losePower({ synchronous: "off", seed: "off", promises: 300, images: 30 });
    expect(report.problems.join("\n")).toMatch(/was acknowledged and is missing|cannot be opened/);
  });

  test("`normal` can lose the latest commits, but the remaining data is consistent", async () => {
    const report = await losePower({ synchronous: "normal", seed: "normal", promises: 300, images: 40 });
    const lost = /was acknowledged and is missing|was reported as answered/;
    expect(report.problems.some((problem) => lost.test(problem))).toBe(true);
    expect(report.problems.filter((problem) => !lost.test(problem))).toEqual([]);
  });
});
