/** The list of changes on the disk: its numbers, its limits, and what a crash leaves of it. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ChangeJournal, type ChangeLimits, withUndone } from "./change-journal.ts";

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "rookery-journal-"));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

type NewChange = Parameters<ChangeJournal["begin"]>[0];
const LIMITS: ChangeLimits = { rows: 100, ofFile: 100, bytes: 1_000, spare: 100 };
const open = (limits: Partial<ChangeLimits> = {}) => new ChangeJournal(directory, { ...LIMITS, ...limits });
const version = (name: string, bytes = 1) => ({ sha256: name.padStart(64, "0"), bytes });
const change = (file: string, more: Partial<NewChange> = {}): NewChange => ({
  ...{ at: 1, kind: "memory" as const, file, by: { person: "ann", surface: "api" }, before: null, after: version("a") },
  ...more,
});
const ids = (journal: ChangeJournal): readonly number[] => [...journal.rows.keys()];
const write = async (journal: ChangeJournal, ...changes: NewChange[]): Promise<void> => {
  for (const one of changes) await journal.end((await journal.begin(one)).id, "done");
};

describe("the numbers of changes", () => {
  test("begin with one and go on after a restart", async () => {
    expect(open().last).toBe(0);
    await write(open(), change("a"));
    await write(open(), change("b"));
    expect([open().last, ids(open())]).toEqual([2, [1, 2]]);
  });

  test("are not used again after the last changes were removed, also not after two restarts", async () => {
    await write(open(), change("mine"), change("ann"), change("ann"));
    expect(await open().prune(({ file }) => file === "ann")).toBe(true);
    expect([ids(open()), open().last]).toEqual([[1], 3]);
    await write(open(), change("new"));
    expect([ids(open()), open().last]).toEqual([[1, 4], 4]);
    expect(await open().prune(({ file }) => file !== "mine")).toBe(true);
    expect(await open().prune(({ file }) => file === "mine")).toBe(true);
    expect([ids(open()), open().last]).toEqual([[], 4]);
  });
});

describe("a change", () => {
  test("is begun until its end is written, and keeps that over a rewrite of the list", async () => {
    const journal = open();
    await journal.begin(change("a"));
    await journal.end((await journal.begin(change("b"))).id, "failed");
    await write(journal, change("c"), change("gone"));
    await journal.prune(({ file }) => file === "gone");
    for (const one of [journal, open()]) {
      expect([...one.rows.values()].map(({ state }) => state)).toEqual(["begun", "failed", "done"]);
    }
  });

  test("that is not known has no end", async () => {
    const journal = open();
    await write(journal, change("a"));
    const before = readFileSync(join(directory, "journal.jsonl"), "utf8");
    await journal.end(7, "done");
    expect(readFileSync(join(directory, "journal.jsonl"), "utf8")).toBe(before);
    writeFileSync(join(directory, "journal.jsonl"), `${before}\n{"end":7,"state":"done"}\n`);
    expect(ids(open())).toEqual([1]);
  });

  test.each([
    ["done", 2],
    ["failed", undefined],
  ] as const)("is undone by one that is %s: %s", async (state, undoneBy) => {
    const journal = open();
    await write(journal, change("a"));
    await journal.end((await journal.begin(change("a", { undoes: 1 }))).id, state);
    expect(withUndone(journal.rows)[0]).toMatchObject({ id: 1, undoneBy });
  });
});

describe("the limits", () => {
  const many = Array.from({ length: 4 }, () => change("a"));
  test.each<[string, Partial<ChangeLimits>, readonly number[]]>([
    ["all fit", { spare: 1 }, [1, 2, 3, 4]],
    ["of rows leave the newest", { rows: 3, spare: 1 }, [2, 3, 4]],
    ["of a file leave the newest of it", { ofFile: 2, spare: 1 }, [3, 4]],
    ["wait until there is enough to remove", { rows: 2, spare: 3 }, [1, 2, 3, 4]],
    ["apply as soon as there is", { rows: 2, spare: 2 }, [3, 4]],
  ])("%s", async (_, limits, left) => {
    await write(open(), ...many);
    const journal = open(limits);
    expect(await journal.prune()).toBe(left.length < 4);
    expect([ids(journal), ids(open())]).toEqual([left, left]);
  });

  test("of bytes count each version once", async () => {
    const same = [1, 2, 3].map(() => change("a", { before: version("b", 10), after: version("c", 10) }));
    await write(open(), change("a", { after: version("d", 1) }), ...same);
    const [fits, full] = [open({ bytes: 20, spare: 1 }), open({ bytes: 19, spare: 1 })];
    expect([await fits.prune(), ids(fits)]).toEqual([true, [2, 3, 4]]);
    expect([await full.prune(), ids(full)]).toEqual([true, []]);
  });

  test("of one file leave the changes of others", async () => {
    await write(open(), change("b"), ...many);
    const journal = open({ ofFile: 1, spare: 1 });
    await journal.prune();
    expect(ids(journal)).toEqual([1, 5]);
  });

  test("do not keep what is to be removed, however little that is", async () => {
    await write(open(), change("a"), change("b"));
    expect(await open().prune()).toBe(false);
    expect(await open().prune(({ file }) => file === "c")).toBe(false);
    expect(await open().prune(({ file }) => file === "a")).toBe(true);
    expect(readFileSync(join(directory, "journal.jsonl"), "utf8")).not.toContain('"a"');
  });
});
