import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { workspaceReaders } from "./read-workspace-file.ts";

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "rookery-workspace-"));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

/** A reader that treats every change as older than the settling time. */
const settled = () => workspaceReaders(() => Date.now() + 60_000);

it("returns the text of a file, and undefined for a missing one", () => {
  writeFileSync(join(home, "AGENTS.md"), "be kind");
  const reader = settled();
  for (let again = 0; again < 3; again++) {
    const read = reader(home);
    expect([read("AGENTS.md"), read("USER.md")]).toEqual(["be kind", undefined]);
  }
});

it("notices a file that was changed, created, removed or replaced", () => {
  const reader = settled();
  const read = () => reader(home)("AGENTS.md");
  expect(read()).toBeUndefined();
  writeFileSync(join(home, "AGENTS.md"), "one");
  expect(read()).toBe("one");
  expect(read()).toBe("one");
  writeFileSync(join(home, "AGENTS.md"), "two");
  expect(read()).toBe("two");
  rmSync(join(home, "AGENTS.md"));
  expect(read()).toBeUndefined();
  expect(read()).toBeUndefined();
  writeFileSync(join(home, "AGENTS.md"), "six");
  expect(read()).toBe("six");
});

it("notices a change that keeps the size and the modification time", () => {
  const reader = settled();
  const file = join(home, "AGENTS.md");
  const write = (text: string): void => {
    writeFileSync(file, text);
    utimesSync(file, 1, 1);
  };
  write("one");
  expect(reader(home)("AGENTS.md")).toBe("one");
  write("two");
  expect(reader(home)("AGENTS.md")).toBe("two");
});

it("reads a recently changed file again: the clock of a file system is coarse", () => {
  let now = Date.now();
  const reader = workspaceReaders(() => now);
  const file = join(home, "AGENTS.md");
  writeFileSync(file, "one");
  expect(reader(home)("AGENTS.md")).toBe("one");
  writeFileSync(file, "two");
  expect(reader(home)("AGENTS.md")).toBe("two");
  now += 60_000;
  expect(reader(home)("AGENTS.md")).toBe("two");
});

it("follows no link, opens no directory, and notices a directory that becomes a file", () => {
  writeFileSync(join(home, "secret"), "s");
  symlinkSync(join(home, "secret"), join(home, "AGENTS.md"));
  mkdirSync(join(home, "USER.md"));
  const reader = settled();
  for (let again = 0; again < 2; again++) {
    const read = reader(home);
    expect([read("AGENTS.md"), read("USER.md")]).toEqual([undefined, undefined]);
  }
  rmSync(join(home, "AGENTS.md"));
  writeFileSync(join(home, "AGENTS.md"), "own");
  expect(reader(home)("AGENTS.md")).toBe("own");
});

it.skipIf(process.getuid?.() === 0)("reads a file once its permissions allow it", () => {
  const file = join(home, "AGENTS.md");
  writeFileSync(file, "one", { mode: 0o000 });
  const reader = settled();
  expect(reader(home)("AGENTS.md")).toBeUndefined();
  chmodSync(file, 0o600);
  expect(reader(home)("AGENTS.md")).toBe("one");
});

it("returns undefined while the workspace is missing, and reads it once it exists", () => {
  const reader = settled();
  const later = join(home, "later");
  expect(reader(later)("AGENTS.md")).toBeUndefined();
  mkdirSync(later);
  writeFileSync(join(later, "AGENTS.md"), "here");
  expect(reader(later)("AGENTS.md")).toBe("here");
});
