/** The search for repositories before a command: it is complete, and the process does its other work during it. */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { workUntilStopped } from "../../../../test/kit/other-work.ts";
import { guardRepositories } from "./guard-repositories.ts";

const root = mkdtempSync(join(tmpdir(), "rookery-large-"));
const DIRECTORIES = 8_000;

/** A repository as git accepts one. */
function makeRepository(path: string): void {
  for (const name of ["objects", "refs"]) mkdirSync(join(path, name), { recursive: true });
  writeFileSync(join(path, "HEAD"), "ref: refs/heads/main\n");
}

beforeAll(() => {
  for (let at = 0; at < DIRECTORIES; at++) mkdirSync(join(root, `a${at % 40}`, `b${at}`), { recursive: true });
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

it("finds every repository of a large workspace, and lets the process do its other work in between", async () => {
  const deep = ["a0/b0/x/y/z", "a39/b39", "a7/b7/.git"].map((path) => join(root, path));
  for (const path of deep) makeRepository(path);
  const other = workUntilStopped();
  const { frozen } = await guardRepositories({ writable: [root], frozen: [] });
  expect(frozen).toEqual(expect.arrayContaining(deep.map((path) => join(path, "config"))));
  expect(await other.stop()).toBeGreaterThan(DIRECTORIES / 100);
});

it("does not wait for a pipe in the place of the settings", async () => {
  const path = join(root, "pipe");
  makeRepository(path);
  execFileSync("mkfifo", [join(path, "config")]);
  const { frozen } = await guardRepositories({ writable: [path], frozen: [] });
  // The workspace itself is not a repository below it.
  expect(frozen).toContain(join(path, "hooks"));
});
