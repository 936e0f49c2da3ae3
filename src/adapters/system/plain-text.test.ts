import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readPlainText } from "./plain-text.ts";

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "rookery-plain-"));
  writeFileSync(join(directory, "note"), "four");
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));
const at = (name: string) => join(directory, name);

test.each([
  [5, "cut", "four"],
  [4, "cut", "four"],
  [3, "cut", "fou"],
  [5, "refused", "four"],
  [4, "refused", "four"],
  [3, "refused", undefined],
] as const)("of a file of four bytes, where %s are allowed and the rest is %s: %s", (most, longer, text) => {
  expect(readPlainText(at("note"), most, longer)).toBe(text);
});

test.each<[string, () => void]>([
  ["nothing", () => {}],
  ["a directory", () => mkdirSync(at("other"))],
  ["a link", () => symlinkSync(at("note"), at("other"))],
  ["a pipe that nobody writes to", () => void execFileSync("mkfifo", [at("other")])],
])("reads no text from %s", (_, make) => {
  make();
  expect(readPlainText(at("other"), 100, "cut")).toBeUndefined();
});

test("an empty file is an empty text", () => {
  writeFileSync(at("empty"), "");
  expect(readPlainText(at("empty"), 100, "refused")).toBe("");
});
