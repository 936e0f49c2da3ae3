/** The search for repositories before a command: it is complete, and the process does its other work during it. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { needs } from "../../../../test/kit/needs.ts";
import { workUntilStopped } from "../../../../test/kit/other-work.ts";
import { bwrapSandbox } from "../../sandbox/bwrap-sandbox.ts";
import { commandEffects } from "./command-effects.ts";
import { type CommandWorld, commandWorld } from "./exec.test-kit.ts";
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
  const { frozen } = await guardRepositories({ writable: [root], readable: [], frozen: [] });
  expect(frozen).toEqual(expect.arrayContaining(deep.map((path) => join(path, "config"))));
  expect(await other.stop()).toBeGreaterThan(DIRECTORIES / 100);
});

it("does not wait for a pipe in the place of the settings", async () => {
  const path = join(root, "pipe");
  makeRepository(path);
  execFileSync("mkfifo", [join(path, "config")]);
  const { frozen } = await guardRepositories({ writable: [path], readable: [], frozen: [] });
  // The workspace itself is not a repository below it.
  expect(frozen).toContain(join(path, "hooks"));
});

describe("a workspace with more directories than are searched", needs("bwrap"), () => {
  const LIMIT = 60;
  let world: CommandWorld;
  beforeAll(() => {
    world = commandWorld(bwrapSandbox(), LIMIT);
    for (let at = 0; at < LIMIT; at++)
      mkdirSync(join(world.workspace, `node_modules/a${at % 7}/b${at}`), { recursive: true });
    for (const path of ["code", "node_modules/a3/b3"]) makeRepository(join(world.workspace, path));
  });
  afterAll(() => world.close());
  const plant = (path: string) =>
    world.call("exec", { command: `sh -c 'mkdir -p ${path}; echo x > ${path}/config; echo x > ${path}/HEAD'` });
  const has = (path: string): boolean => existsSync(join(world.workspace, path));

  it("is writable where the search was, and read-only elsewhere", async () => {
    expect((await plant("code")).text).toContain("read-only, because");
    expect([has("code/config"), has("code/HEAD")]).toEqual([false, true]);
    await world.call("exec", { command: "for d in node_modules/*/*; do echo x > $d/config; done" });
    expect(has("node_modules/a3/b3/config")).toBe(false);
  });

  it("is read-only as a whole if the search ended everywhere", async () => {
    for (let at = 0; at < 10 * LIMIT; at++) mkdirSync(join(world.workspace, `wide-${at}`));
    await plant("made");
    expect(has("made")).toBe(false);
    expect((await world.call("exec", { command: "cat SOUL.md; ls code" })).text).toContain("HEAD");
  });

  it("lets git that reads ask", async () => {
    const [effect] = await commandEffects(world.deps, world.agent, { command: "git status" });
    expect(effect?.detail).toMatchObject({ starts: expect.stringContaining("more directories") });
    const [other] = await commandEffects(world.deps, world.agent, { command: "git commit" });
    expect(other?.detail).toMatchObject({ starts: undefined });
  });
});
