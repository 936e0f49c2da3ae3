/** What an error of the disk means: whether all changes are concerned, whether the process goes on, what a person does. */
import { describe, expect, test } from "vitest";
import { StoreFullError, StoreUnreadableError } from "../../../core/errors.ts";
import { explainDiskError, isDiskError, isFullError } from "./disk-error.ts";
import { freeBytes, hasNoRoom, isOutOfRoom, logPagesFor } from "./disk-room.ts";

const sqlite = (errcode: unknown): Error => Object.assign(new Error("it failed"), { errcode });

describe("an error of SQLite", () => {
  test.each<[code: unknown, wanted: boolean, what: string]>([
    [1, false, "a wrong statement"],
    [5, false, "busy"],
    [8, true, "read-only"],
    [9, false, "interrupted"],
    [10, true, "input or output"],
    [778, true, "a write that failed, with its extended code"],
    [11, true, "corrupt"],
    [12, false, "not found"],
    [13, true, "full"],
    [14, true, "cannot be opened"],
    [15, false, "protocol"],
    [19, false, "a constraint"],
    [26, true, "no database"],
    ["13", false, "a code that is no number"],
    [undefined, false, "none"],
  ])("with code %s concerns the disk: %s (%s)", (code, wanted, _what) => {
    expect(isDiskError(sqlite(code))).toBe(wanted);
  });

  test("says that the disk is full only with its code, also the extended one", () => {
    expect([13, 13 + 256, 12, 14, undefined].map((code) => isFullError(sqlite(code)))).toEqual([
      true,
      true,
      false,
      false,
      false,
    ]);
    expect([isFullError(undefined), isDiskError(undefined)]).toEqual([false, false]);
  });

  test.each([
    [13, false, StoreFullError, false, "The disk is full"],
    [8, false, StoreFullError, false, "The disk cannot be written"],
    [14, true, StoreFullError, false, "The disk cannot be written"],
    [10, true, StoreFullError, true, "The process ends"],
    [10, false, StoreUnreadableError, true, "The database failed"],
    [11, false, StoreUnreadableError, true, "The database failed"],
    [undefined, false, StoreUnreadableError, true, "The database failed"],
  ])("with code %s on a disk without room (%s) is explained", (code, isFull, type, fatal, text) => {
    const { explained, fatal: ends } = explainDiskError(sqlite(code), isFull);
    expect(explained).toBeInstanceOf(type);
    expect(explained.message).toContain(text);
    expect([ends, (explained.cause as Error).message]).toEqual([fatal, "it failed"]);
  });
});

describe("the room on the disk", () => {
  test.each([
    [undefined, 10_000],
    [0, 64],
    [64 * 8 * 4096, 64],
    [65 * 8 * 4096, 65],
    [65 * 8 * 4096 - 1, 64],
    [9_999 * 8 * 4096, 9_999],
    [1e15, 10_000],
  ])("of %s bytes lets the log grow to %i pages", (free, pages) => {
    expect(logPagesFor(free)).toBe(pages);
  });

  test("is known for a directory that exists", () => {
    expect(freeBytes(import.meta.dirname)).toBeGreaterThan(1_000);
    expect(freeBytes("/no/such/directory")).toBeUndefined();
    expect([hasNoRoom(import.meta.dirname), hasNoRoom("/no/such/directory")]).toEqual([false, false]);
  });

  test.each([
    [{ code: "ENOSPC" }, true],
    [{ code: "EDQUOT" }, true],
    [{ code: "EACCES" }, false],
    [{ errcode: 13 }, true],
    [{ errcode: 13 + 512 }, true],
    [{ errcode: 10 }, false],
    [{ errcode: 14 }, false],
    [{ errcode: 11 }, false],
    [undefined, false],
  ])("is missing by %j on a disk with room: %s", (error, wanted) => {
    expect(isOutOfRoom(error, import.meta.dirname)).toBe(wanted);
  });
});
