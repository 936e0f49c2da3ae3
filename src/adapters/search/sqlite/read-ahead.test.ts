import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { readAhead } from "./read-ahead.ts";

const directory = mkdtempSync(join(tmpdir(), "rookery-ahead-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

it("reads a file in portions until its end, and a file that is not there not at all", () => {
  const steps = (bytes: number | undefined): number => {
    const path = join(directory, "file");
    rmSync(path, { force: true });
    if (bytes !== undefined) writeFileSync(path, new Uint8Array(bytes));
    const ahead = readAhead(path);
    let count = 1;
    while (ahead.step()) count++;
    expect(ahead.step()).toBe(false);
    return count;
  };
  expect([undefined, 0, 100, 20 * 1024 * 1024].map(steps)).toEqual([1, 1, 1, 3]);
});
