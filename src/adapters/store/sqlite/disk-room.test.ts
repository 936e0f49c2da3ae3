/** How large the log may grow on a disk, and which errors mean that a disk is full. */
import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { describe, expect, test } from "vitest";
import { freeBytes, hasNoRoom, isOutOfRoom, logPagesFor } from "./disk-room.ts";

const MB = 1 << 20;

describe("the log of a database", () => {
  test.each([
    [undefined, 10_000],
    [0, 64],
    [64 * 8 * 4_096, 64],
    [65 * 8 * 4_096, 65],
    [65 * 8 * 4_096 - 1, 64],
    [100 * MB, 3_200],
    [10_000 * 8 * 4_096 - 1, 9_999],
    [10_000 * 8 * 4_096, 10_000],
    [1_000_000 * MB, 10_000],
  ])("with %s bytes free is checkpointed after %i pages", (free, pages) => {
    expect(logPagesFor(free)).toBe(pages);
  });
});

describe("an error of the disk", () => {
  test.each([
    ["the file system's own", { code: "ENOSPC" }, true],
    ["a quota's", { code: "EDQUOT" }, true],
    ["of a missing file", { code: "ENOENT" }, false],
    ["SQLite's own", { errcode: 13 }, true],
    ["SQLite's own with more about it", { errcode: 13 | (1 << 8) }, true],
    ["of reading on a disk with room", { errcode: 10 }, false],
    ["of opening on a disk with room", { errcode: 14 }, false],
    ["of a lock", { errcode: 5 }, false],
    ["without a number", { errcode: "13" }, false],
    ["that is nothing", undefined, false],
    ["that is null", null, false],
  ])("%s: %j means that it is full: %s", (_what, error, full) => {
    expect(isOutOfRoom(error, tmpdir())).toBe(full);
  });

  // This file system never has any room.
  test.runIf(existsSync("/proc/self"))("of reading or opening means that it is full only if it is", () => {
    expect([freeBytes("/proc"), hasNoRoom("/proc")]).toEqual([0, true]);
    for (const errcode of [10, 14, 10 | (9 << 8)]) expect(isOutOfRoom({ errcode }, "/proc"), `${errcode}`).toBe(true);
    for (const errcode of [1, 5, 9, 11, 12, 15, 19])
      expect(isOutOfRoom({ errcode }, "/proc"), `${errcode}`).toBe(false);
    for (const error of [undefined, {}, { code: "EIO" }, { errcode: "10" }])
      expect(isOutOfRoom(error, "/proc"), JSON.stringify(error)).toBe(false);
  });

  test("is none of a directory that does not say how much room it has", () => {
    expect(freeBytes("/none/at/all")).toBeUndefined();
    expect(hasNoRoom("/none/at/all")).toBe(false);
    expect(isOutOfRoom({ errcode: 14 }, "/none/at/all")).toBe(false);
    expect(freeBytes(tmpdir())).toBeGreaterThan(128 * 1_024);
    expect(hasNoRoom(tmpdir())).toBe(false);
  });
});
