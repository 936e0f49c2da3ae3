/** A private file is whole: the system may write a part of a text at a time. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { writePrivateFile } from "./private-file.ts";

vi.mock("node:fs", async (original) => {
  const real = await original<typeof import("node:fs")>();
  return { ...real, writeSync: (fd: number, text: string) => real.writeSync(fd, text.slice(0, 3)) };
});

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "rookery-private-"));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

test("is written whole, for its owner only, and leaves no other file", () => {
  const file = join(home, "a/keys.json");
  writePrivateFile(file, "all of it\n");
  expect(readFileSync(file, "utf8")).toBe("all of it\n");
  writeFileSync(file, "", { mode: 0o644 });
  writePrivateFile(file, "again");
  expect([readFileSync(file, "utf8"), readdirSync(join(home, "a"))]).toEqual(["again", ["keys.json"]]);
  expect([statSync(file).mode & 0o777, statSync(join(home, "a")).mode & 0o777]).toEqual([0o600, 0o700]);
});
