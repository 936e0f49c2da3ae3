/**
 * Files that make a reading command run a program: planted on the disk, then the model of a real node asks for the command. The real git
 * proves that each plant works.
 */
import { existsSync, mkdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { needs } from "../kit/needs.ts";
import { type HostileWorld, OWNER_AT, openHostileWorld } from "./hostile.test-kit.ts";
import { hostGit, makeRepository, PLANTS, typeLine, writeProgram } from "./planted.test-kit.ts";

let world: HostileWorld;
beforeAll(async () => {
  world = await openHostileWorld();
});
afterAll(() => world.close());

const inWorkspace = (...names: readonly string[]): string => join(world.paths.workspace, ...names);
const sentinel = (): string => inWorkspace("ran");
const program = (): string => inWorkspace("program.sh");

/** The model makes these calls in one answer of the owner's conversation, which then starts afresh. */
async function attempt(...calls: readonly (readonly [name: string, given: object])[]): Promise<void> {
  await world.say(OWNER_AT, calls.map(([name, given]) => `LOOK ${JSON.stringify({ name, with: given })}`).join("\n"));
  await world.node.agents.post({ to: { agentId: world.main.id }, body: { kind: "reset", by: "person" } });
  await world.node.agents.settled();
}

const git = (cwd: string, ...args: readonly string[]): string => hostGit(dirname(world.paths.home), cwd, ...args);
const repository = (directory: string, attributes?: string): void => makeRepository(git, directory, attributes);

describe("a reading command in a repository with planted settings", needs("bwrap"), () => {
  beforeAll(() => {
    writeProgram(program());
  });

  it.each(PLANTS.map((one, at) => [one.what, at, one] as const))("runs no program of %s", async (_what, at, one) => {
    const name = `plant-${at}`;
    repository(inWorkspace(name), one.attributes);
    one.plant(inWorkspace(name), { git, program: program() });
    rmSync(sentinel(), { force: true });
    const cwd = join(name, one.cwd ?? "");
    for (const line of one.lines) {
      await attempt(["exec", { command: line, cwd }], ["exec", { command: line.split(" "), cwd }]);
      expect(existsSync(sentinel()), line).toBe(false);
    }
    // The plant works: this is what the question prevents.
    // Git has to look at it again.
    utimesSync(inWorkspace(name, "a.txt"), 1, 1);
    typeLine(git, inWorkspace(cwd), one.lines[0] ?? "");
    expect(existsSync(sentinel()), "git runs the planted program").toBe(true);
  });

  it.each([
    ["a substitution in the name of a variable", `test -v 'a[$(touch ran)]'`],
    ["rg --pre", "rg --pre ./program.sh one tools"],
    ["sort --compress-program", "sort -S1b --compress-program=./program.sh tools/big"],
    ["find -fprintf", "find tools -maxdepth 0 -fprintf ran x"],
  ])("executes and writes nothing by %s", async (_what, command) => {
    mkdirSync(inWorkspace("tools"), { recursive: true });
    writeFileSync(inWorkspace("tools", "big"), "one\n".repeat(10_000));
    rmSync(sentinel(), { force: true });
    await attempt(["exec", { command }]);
    expect(existsSync(sentinel())).toBe(false);
  });
});

describe("a tool that writes what git obeys", needs("bwrap"), () => {
  const FSMONITOR = "[core]\n\tfsmonitor = touch ../ran; false\n\tworktree = ..\n";
  const patch = (path: string): object => ({
    patch: `*** Begin Patch\n*** Add File: ${path}\n+[core]\n+fsmonitor = x\n*** End Patch\n`,
  });
  /** The files of a bare repository, in one answer. */
  const bare = (at: string): readonly (readonly [string, object])[] => [
    ["write", { path: `${at}/config`, content: FSMONITOR }],
    ["write", { path: `${at}/objects/x`, content: "x" }],
    ["write", { path: `${at}/refs/x`, content: "x" }],
    ["write", { path: `${at}/HEAD`, content: "ref: refs/heads/main\n" }],
  ];

  it.each<[string, (at: string) => readonly (readonly [string, object])[], string]>([
    ["write", (at) => [["write", { path: `${at}/.git/config`, content: FSMONITOR }]], ""],
    ["write, in other letters", (at) => [["write", { path: `${at}/.GIT/config`, content: FSMONITOR }]], ""],
    [
      "write, through a directory that is not there",
      (at) => [["write", { path: `${at}/x/../.git/config`, content: FSMONITOR }]],
      "",
    ],
    [
      "write, deeper",
      (at) => [["write", { path: `${at}/sub/deep/.git`, content: "gitdir: ../../store\n" }]],
      "sub/deep",
    ],
    ["write, with an own repository", (at) => bare(`${at}/made`), "made"],
    ["write, in a bare repository", (at) => [["write", { path: `${at}/store/config`, content: FSMONITOR }]], "store"],
    [
      "edit",
      (at) => [["edit", { path: `${at}/store/config`, oldText: "bare = true", newText: "fsmonitor = x" }]],
      "store",
    ],
    ["apply_patch", (at) => [["apply_patch", patch(`${at}/.git/hooks/pre-commit`)]], ""],
    ["a redirect", (at) => [["exec", { command: `echo x > ${at}/.git/config` }]], ""],
    ["a redirect from another directory", (at) => [["exec", { command: "echo x >> store/config", cwd: at }]], "store"],
  ])("changes nothing without a yes: %s", async (what, calls, cwd) => {
    const name = `guarded-${what.replaceAll(/\W+/gu, "-")}`;
    repository(inWorkspace(name));
    git(inWorkspace(name), "clone", "-q", "--bare", ".", "store");
    const files = [".git/config", "store/config"].map((file) => inWorkspace(name, file));
    const before = files.map((file) => readFileSync(file, "utf8"));
    rmSync(sentinel(), { force: true });
    await attempt(...calls(name));
    expect(files.map((file) => readFileSync(file, "utf8"))).toEqual(before);
    for (const made of ["sub/deep/.git", "made/HEAD", ".git/hooks/pre-commit", ".GIT"]) {
      expect(existsSync(inWorkspace(name, made)), made).toBe(false);
    }
    if (existsSync(inWorkspace(name, cwd))) git(inWorkspace(name, cwd), "status");
    expect(existsSync(sentinel())).toBe(false);
  });
});
