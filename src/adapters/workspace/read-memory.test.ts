/** What a person sees of the notes: their names, and the text of one of them. */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readMemory } from "./read-memory.ts";

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "rookery-memory-"));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const TEXTS: Readonly<Record<string, string>> = { "MEMORY.md": "main", "memory/a.md": "a", "memory/b.txt": "b" };
const read = (name: string): string | undefined => TEXTS[name];

function notes(...names: readonly string[]): void {
  mkdirSync(join(home, "memory"));
  for (const name of names) writeFileSync(join(home, "memory", name), "");
}

test.each([
  [undefined, "MEMORY.md", "main"],
  ["MEMORY.md", "MEMORY.md", "main"],
  ["memory", "MEMORY.md", "main"],
  ["a", "a.md", "a"],
  ["A.MD", "a.md", "a"],
  ["b.txt", "b.txt", "b"],
])("of %s it is %s", (wanted, name, text) => {
  notes("b.txt", "a.md");
  expect(readMemory(home, wanted, read)).toEqual({ name, text, names: ["MEMORY.md", "a.md", "b.txt"] });
});

test.each(["b", "c", "../MEMORY.md", "memory/a.md", "gone.md"])("of %s there is none", (wanted) => {
  notes("b.txt", "a.md", "gone.md");
  expect(readMemory(home, wanted, read)).toBeUndefined();
});

test("without a main file the names are listed, and without any there is nothing", () => {
  expect(readMemory(home, undefined, () => undefined)).toBeUndefined();
  notes("a.md");
  expect(readMemory(home, undefined, () => undefined)).toEqual({ name: "memory", text: "", names: ["a.md"] });
  expect(readMemory(home, "MEMORY.md", () => undefined)).toBeUndefined();
});

test("only plain names of plain files count, and a link in place of the directory shows nothing", () => {
  notes("a.md", ".hidden", "-x", "ä.md", `${"n".repeat(128)}`, `${"n".repeat(129)}`);
  mkdirSync(join(home, "memory/below"));
  symlinkSync(join(home, "memory/a.md"), join(home, "memory/link.md"));
  expect(readMemory(home, undefined, read)?.names).toEqual(["MEMORY.md", "a.md", "n".repeat(128)]);
  const other = join(home, "other");
  mkdirSync(other);
  symlinkSync(join(home, "memory"), join(other, "memory"));
  expect(readMemory(other, undefined, read)?.names).toEqual(["MEMORY.md"]);
});

test("what counts comes before what the disk has", () => {
  notes("disk.md");
  const guard = { names: (directory: string) => (directory === join(home, "memory") ? ["a.md", ".x"] : undefined) };
  expect(readMemory(home, "a", read, guard)?.names).toEqual(["MEMORY.md", "a.md"]);
  expect(readMemory(home, "disk", read, { names: () => [] })).toBeUndefined();
});
