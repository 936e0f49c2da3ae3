/** What counts as a mark, and whether its files were written from a database. */
import { expect, test } from "vitest";
import { compareMark, type Mark, readMark, writeMark } from "./mark-file.ts";
import { MemoryFiles } from "./memory-files.test-kit.ts";

const MARK: Mark = { version: 1, synced: 5, change: "c5", at: 7, clean: true };

test.each<[string, unknown, boolean]>([
  ["whole", MARK, true],
  ["of an empty database", { ...MARK, synced: 0, change: null, at: 0 }, true],
  ["not clean", { ...MARK, clean: false }, true],
  ["with a field of a later program", { ...MARK, more: 1 }, true],
  ["of another version", { ...MARK, version: 2 }, false],
  ["of a negative change", { ...MARK, synced: -1 }, false],
  ["of half a change", { ...MARK, synced: 1.5 }, false],
  ["without a change", { ...MARK, change: undefined }, false],
  ["whose change is no text", { ...MARK, change: 5 }, false],
  ["whose time is no number", { ...MARK, at: "7" }, false],
  ["without a word about a clean stop", { ...MARK, clean: undefined }, false],
  ["that is nothing", null, false],
  ["that is a number", 5, false],
  ["that is a text", "mark", false],
  ["that is a list", [MARK], false],
])("a mark %s is taken or not", (_title, value, taken) => {
  const files = new MemoryFiles();
  files.put("mirror.json", JSON.stringify(value));
  expect(readMark(files)).toEqual(taken ? value : undefined);
});

test("a mark that is missing or torn is none", () => {
  const files = new MemoryFiles();
  expect(readMark(files)).toBeUndefined();
  files.put("mirror.json", JSON.stringify(MARK).slice(0, -5));
  expect(readMark(files)).toBeUndefined();
});

test("a mark that was written outlives a power loss", () => {
  const files = new MemoryFiles();
  writeMark(files, MARK);
  expect(readMark(files.afterPowerLoss(() => 0.49))).toEqual(MARK);
});

/** A log that holds the changes from `first` to `last`. */
const log = (first: number, last: number) => ({
  bounds: () => ({ first, last }),
  changeId: (n: number) => (n >= first && n <= last ? `c${n}` : undefined),
});

test.each<[string, Partial<Mark>, ReturnType<typeof log>, ReturnType<typeof compareMark>]>([
  ["whose change is there", {}, log(1, 9), "same"],
  ["whose change is the newest", {}, log(1, 5), "same"],
  ["whose change is the oldest", {}, log(5, 9), "same"],
  ["with another change in its place", { change: "other" }, log(1, 9), "other"],
  ["without the name of a change that is there", { change: null }, log(1, 9), "other"],
  ["whose change was pruned", {}, log(6, 9), "unknown"],
  ["that named no change, after changes were pruned", { change: null }, log(6, 9), "unknown"],
  ["from after the newest change", {}, log(1, 4), "other"],
  ["that named no change, from after the newest", { change: null }, log(1, 4), "other"],
  ["of an empty database beside one", { synced: 0, change: null }, log(0, 0), "same"],
  ["of an empty database beside the first changes", { synced: 0, change: null }, log(1, 4), "same"],
  ["that names a change before the first", { synced: 0, change: "c0" }, log(1, 4), "unknown"],
])("files with a mark %s", (_title, mark, source, expected) => {
  const found = source.bounds().first === 0 ? { ...source, changeId: () => undefined } : source;
  expect(compareMark(found, { ...MARK, ...mark })).toBe(expected);
});
