/** When a look at the directory of a home is enough, by the times that the file system tells. */
import { type BigIntStats, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { homeFiles, identifyHome } from "./home-files.ts";

vi.mock("node:fs", async (original) => {
  const real = await original<typeof import("node:fs")>();
  return { ...real, statSync: vi.fn(real.statSync) };
});

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "rookery-files-"));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

test.each([
  [999, 4],
  [1_000, 4],
  [1_001, 1],
])("a directory that changed %i ms before a look: the next look is at %i files", (age, looks) => {
  for (const name of ["rookery.db", "rookery.db-wal", "rookery.lock"]) writeFileSync(join(home, name), "x");
  const files = homeFiles(home, identifyHome(home));
  const changedMs = 1_800_000_000_000;
  const stat = vi.mocked(statSync);
  const real = stat.getMockImplementation() as (...asked: unknown[]) => BigIntStats;
  stat.mockImplementation(((...asked: unknown[]) =>
    Object.assign(real(...asked), { ctimeNs: BigInt(changedMs) * 1_000_000n })) as never);
  vi.spyOn(Date, "now").mockReturnValue(changedMs + age);
  try {
    expect(files.lost()).toBeUndefined();
    stat.mockClear();
    expect(files.lost()).toBeUndefined();
    expect(stat).toHaveBeenCalledTimes(looks);
  } finally {
    stat.mockImplementation(real as never);
    vi.mocked(Date.now).mockRestore();
  }
});
