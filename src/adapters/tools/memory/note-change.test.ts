import { describe, expect, it } from "vitest";
import { MAX_FILE_CHARACTERS } from "../../../engine/context/prompt/system-prompt.ts";
import { changedNote, isNote, MAIN_NOTE, notePathOf } from "./note-change.ts";

const DAY = "memory/2026-11-03.md";

describe("the name of a note", () => {
  it.each([
    "MEMORY.md",
    "memory.MD",
    "today",
    "2026-11-03",
    "2026-11-03.md",
    "memory/2026-11-03",
    "memory/2026-11-03.md",
    "2028-02-29",
  ])("may be %j", (note) => {
    expect(isNote(note)).toBe(true);
  });

  it.each([
    "",
    "TODAY",
    "SOUL.md",
    "MEMORY.md/x",
    "./MEMORY.md",
    "MEMORY.md ",
    "../2026-11-03.md",
    "memory/../2026-11-03.md",
    "memory/memory/2026-11-03.md",
    "notes/2026-11-03.md",
    "/2026-11-03",
    "2026-11-03\n",
    "2026-11-03.md.md",
    "2026-02-29",
    "2026-13-01",
    "2026-00-10",
    "2026-11-31",
    "2026-1-3",
    "٢٠٢٦-11-03",
    "２026-11-03",
  ])("is not %j", (note) => {
    expect(isNote(note)).toBe(false);
  });

  it.each([
    ["MEMORY.md", MAIN_NOTE],
    ["memory.md", MAIN_NOTE],
    ["2026-11-03", DAY],
    ["2026-11-03.md", DAY],
    ["memory/2026-11-03.md", DAY],
  ])("leads %s to %s", (note, path) => {
    expect(notePathOf(note, 0, "UTC")).toBe(path);
  });

  it.each([
    ["UTC", "2026-03-05T23:30:00Z", "memory/2026-03-05.md"],
    ["Europe/Berlin", "2026-03-05T23:30:00Z", "memory/2026-03-06.md"],
    ["America/New_York", "2026-03-05T03:30:00Z", "memory/2026-03-04.md"],
  ])("is the day of the person for today, in %s", (zone, now, path) => {
    expect(notePathOf("today", Date.parse(now), zone)).toBe(path);
  });
});

describe("a change of a note", () => {
  it.each<[string, string | null, string, string]>([
    ["a new note", null, "one", "one\n"],
    ["an empty note", "", "one", "one\n"],
    ["a note that ends with a line", "zero\n", "one\n", "zero\none\n"],
    ["a note that does not", "zero", "one", "zero\none\n"],
  ])("adds to %s", (_, before, text, after) => {
    expect(changedNote(before, { text }, DAY)).toBe(after);
  });

  it("replaces a text that occurs once, whatever it contains", () => {
    expect(changedNote("a b c", { text: "$& $1", replaces: "b" }, DAY)).toBe("a $& $1 c");
    expect(changedNote("a b c", { text: "", replaces: "b " }, DAY)).toBe("a c");
  });

  it.each<[string, string | null, { text: string; replaces?: string }, string]>([
    ["nothing to add", "a", { text: " \n" }, "There is no text to add."],
    ["an old text that is not there", "a", { text: "x", replaces: "b" }, `The old text is not in ${DAY}.`],
    ["an old text of a new note", null, { text: "x", replaces: "b" }, `The old text is not in ${DAY}.`],
    ["an old text that is there twice", "a a", { text: "x", replaces: "a" }, `The old text is in ${DAY} 2 times.`],
    ["the same text", "a", { text: "a", replaces: "a" }, "The old and the new text are the same."],
  ])("is refused with %s", (_, before, change, problem) => {
    expect(() => changedNote(before, change, DAY)).toThrow(problem);
  });

  it.each([
    [MAIN_NOTE, MAX_FILE_CHARACTERS],
    [DAY, 200_000],
  ])("of %s ends at its limit", (path, limit) => {
    expect(changedNote(null, { text: "x".repeat(limit) }, path)).toHaveLength(limit + 1);
    expect(() => changedNote(null, { text: "x".repeat(limit + 1) }, path)).toThrow(
      `${path} would have ${limit + 1} characters, and ${limit} is the limit.`,
    );
  });

  it("may shorten a note that is too long already, and not make it longer", () => {
    const before = `${"x".repeat(MAX_FILE_CHARACTERS + 10)}!`;
    expect(changedNote(before, { text: "", replaces: "!" }, MAIN_NOTE)).toHaveLength(MAX_FILE_CHARACTERS + 10);
    expect(changedNote(before, { text: "?", replaces: "!" }, MAIN_NOTE)).toHaveLength(before.length);
    expect(() => changedNote(before, { text: "??", replaces: "!" }, MAIN_NOTE)).toThrow("is the limit");
  });
});
